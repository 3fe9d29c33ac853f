import type { FleetContext } from '#fleet/context'
import { type DeviceFilter, listDevices } from '#fleet/device-list'
import type { Device } from '#fleet/device-rows'

const pageSize = 1_000

/**
 * All devices a list with this filter would show, newest first, a page at a time (`device:read`). Pages are read as they
 * are asked for; one that existed at the first and still exists comes exactly once. Refusals are thrown by the promise.
 */
export async function exportDevices(ctx: FleetContext, filter: DeviceFilter): Promise<AsyncIterable<Device[]>> {
  const first = await listDevices(ctx, filter, { limit: pageSize, after: undefined })
  return (async function* pages() {
    let page = first
    yield page.items
    while (page.nextAfter !== null) {
      page = await listDevices(ctx, filter, { limit: pageSize, after: page.nextAfter })
      yield page.items
    }
  })()
}
