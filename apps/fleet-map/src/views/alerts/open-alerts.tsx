import { get, getPage } from '../../api/client.ts'
import type { Alert, AlertCounts } from '../../api/schemas.ts'
import { ago, count, moment, plural } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import { holds } from '../../state/session.ts'
import { linkTo } from '../../state/url.ts'
import { AlertSubject } from './alert-subject.tsx'
import { Measured, SeverityLabel } from './alert-text.tsx'
import { kindLabels } from './alert-words.ts'
import css from './alerts.module.css'

const namedAlerts = 3
const refreshMs = 15_000

type OpenAlertsProps = {
  org: string
  /** Only alerts of this device. */
  deviceId?: string
  /** Only alerts of the devices of this group. */
  groupId?: string
}

/**
 * The open alerts of an organization, of a device or of a group, with a link to them in the inbox. Names
 * the newest of them; if some are critical, the newest critical ones. Renders nothing when there are none.
 */
export function OpenAlertsBanner({ org, deviceId, groupId }: OpenAlertsProps) {
  const mayRead = holds(org, 'alert:read')
  const found = useResource(
    JSON.stringify(['open alerts', org, deviceId, groupId, mayRead]),
    (signal) => (mayRead ? readOpenAlerts(org, { deviceId, groupId }, signal) : Promise.resolve(undefined)),
    { everyMs: refreshMs },
  )
  if (!found.value || found.value.counts.open === 0) return null
  const { counts, newest } = found.value
  const inbox = linkTo('alerts', {
    org,
    ...(deviceId ? { device: deviceId } : {}),
    ...(groupId ? { group: groupId } : {}),
  })
  const unnamed = counts.open - newest.length
  return (
    <section class={`notice ${criticalIn(counts) > 0 ? 'bad' : ''} ${css.banner}`} aria-label="Open alerts">
      <div class={css.bannerHead}>
        <strong>{countsText(counts)}</strong>
        <a href={inbox}>Show in the inbox</a>
      </div>
      <ul class={css.bannerList}>
        {newest.map((alert) => (
          <NamedAlert key={alert.id} alert={alert} ofOneDevice={deviceId !== undefined} />
        ))}
        {unnamed > 0 ? <li class="label">and {count(unnamed)} more</li> : null}
      </ul>
    </section>
  )
}

const NamedAlert = ({ alert, ofOneDevice }: { alert: Alert; ofOneDevice: boolean }) => (
  <li>
    <SeverityLabel severity={alert.severity} />
    <span>
      {ofOneDevice ? null : (
        <>
          <AlertSubject alert={alert} unnamed="A device" />
          {': '}
        </>
      )}
      {kindLabels[alert.kind]}. <Measured alert={alert} />
    </span>
    <span class="label" title={moment(alert.openedAt)}>
      {ago(alert.openedAt)}
    </span>
  </li>
)

const criticalIn = ({ bySeverity }: AlertCounts): number => bySeverity.critical?.open ?? 0

/** For example "4 open alerts, 1 of them critical". */
function countsText(counts: AlertCounts): string {
  const critical = criticalIn(counts)
  const open = plural(counts.open, 'open alert')
  if (critical === 0) return open
  return critical === counts.open
    ? `${plural(critical, 'open critical alert')}`
    : `${open}, ${count(critical)} critical`
}

/** The numbers of alerts and the newest open ones; if some are critical, the newest critical ones. */
async function readOpenAlerts(
  org: string,
  of: { deviceId: string | undefined; groupId: string | undefined },
  signal: AbortSignal,
): Promise<{ counts: AlertCounts; newest: Alert[] }> {
  const counts = await get(`/orgs/${org}/alert-counts`, { query: of, signal })
  if (counts.open === 0) return { counts, newest: [] }
  const severity = criticalIn(counts) > 0 ? ('critical' as const) : null
  const query = { ...of, state: ['open' as const], severity }
  const { items } = await getPage(`/orgs/${org}/alerts`, { query, cursor: null, limit: namedAlerts, signal })
  return { counts, newest: items }
}
