import { get } from '../../api/client.ts'
import { useResource } from '../../components/resource.ts'
import { linkTo } from '../../state/url.ts'
import css from './connect.module.css'

const pollMs = 1_500

/** Shows whether the router has enrolled and reported. */
export function WaitForReport({ org, serial }: { org: string; serial: string }) {
  const { value, error } = useResource(
    `first report ${org} ${serial}`,
    async (signal) => {
      const { items } = await get('/devices', { signal, query: { orgId: org, q: serial, limit: 50 } })
      return { device: items.find((device) => device.serial === serial) }
    },
    { everyMs: pollMs },
  )
  const device = value?.device
  const hasReported = device !== undefined && device.lastSeenAt !== null
  return (
    <>
      <p class={css.waiting} role="status" data-state={hasReported ? 'done' : 'waiting'}>
        <span class={css.waitingMark} aria-hidden="true" />
        {hasReported
          ? `${device.name} has reported.`
          : device
            ? 'The router has enrolled. Waiting for the first report …'
            : 'Waiting for the first report …'}
      </p>
      {error && !hasReported ? <p class="hint">The service does not respond. Retrying.</p> : null}
      {hasReported ? (
        <div class="toolbar">
          <a class="button primary" href={linkTo('map', { device: device.id, org })}>
            Show on the map
          </a>
          <a class="button" href={linkTo('devices', { org })}>
            All devices
          </a>
        </div>
      ) : null}
    </>
  )
}
