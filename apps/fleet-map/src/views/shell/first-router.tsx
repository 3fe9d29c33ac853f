import { get } from '../../api/client.ts'
import { useResource } from '../../components/resource.ts'
import { caller, holds, homeOrganizationId, organizations } from '../../state/session.ts'
import { linkTo, place } from '../../state/url.ts'
import css from './shell.module.css'

const pollMs = 10_000

/** Leads a new installation to its first organization, and an organization without devices to its first router. */
export function FirstRouter() {
  const org = homeOrganizationId.value
  // The list of devices has its own text for an empty list.
  const isShown = place.value.view === 'map'
  const isRead = isShown && org !== '' && holds(org, 'org:read')
  const usage = useResource(
    `first router ${org} ${isRead}`,
    async (signal) => {
      if (!isRead) return undefined
      return get(`/orgs/${org}/usage`, { signal })
    },
    // Only while somebody waits for the first device.
    { everyMs: isRead && knownEmpty.has(org) ? pollMs : 0 },
  ).value
  if (!isShown) return null
  if (usage?.devices.used === 0) knownEmpty.add(org)
  if (organizations.value?.length === 0 && caller.value?.platform)
    return (
      <Card
        title="No organization yet"
        text="Create the first one, then connect its routers."
        href={linkTo('settings', { section: 'organizations' })}
        action="Create an organization"
      />
    )
  if (usage?.devices.used !== 0) return null
  return (
    <Card
      title="No devices yet"
      text="Connect the first router and see its first report in a minute."
      href={linkTo('connect')}
      action="Connect a router"
    />
  )
}

/** Organizations that had no device when they were read last. */
const knownEmpty = new Set<string>()

const Card = ({ title, text, href, action }: { title: string; text: string; href: string; action: string }) => (
  <section class={`${css.firstRouter} floating`} data-first-router aria-label={title}>
    <div>
      <strong>{title}</strong>
      <p class="hint">{text}</p>
    </div>
    <a class="button primary" href={href}>
      {action}
    </a>
  </section>
)
