import { get } from '../api/client.ts'
import { useResource } from '../components/resource.ts'
import { spanQuery, type TimeSpan, telemetryPath } from './history.ts'

// Several parts of a page show the dwells and the times without service of a device: they share the requests.

const refreshMs = 60_000
const mostDwells = 200

/** Where a device stood still, the newest 200. Undefined until it is known, and for callers who may not read it. */
export function useDwells(deviceId: string, span: TimeSpan, mayRead: boolean) {
  const query = { deviceId, ...spanQuery(span), limit: mostDwells }
  return useResource(
    JSON.stringify(['dwells', query, mayRead]),
    async (signal) => (mayRead ? get('/fleet/dwells', { signal, query }) : undefined),
    { everyMs: mayRead ? refreshMs : 0, isShared: true },
  )
}

/** When each modem of a device, or one of them, had no service, and when none of them had, newest first. */
export function useOutages(
  deviceId: string,
  span: TimeSpan,
  { modem, mayRead }: { modem: string | null; mayRead: boolean },
) {
  const query = { ...spanQuery(span), modem }
  return useResource(
    JSON.stringify(['outages', deviceId, query, mayRead]),
    async (signal) => (mayRead ? get(telemetryPath(deviceId, 'outages'), { signal, query }) : undefined),
    { everyMs: mayRead ? refreshMs : 0, isShared: true },
  )
}
