import { authorize, organizationsWith, type Principal, requirePlatform } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import type { Device } from '#fleet/devices/device'
import { type DeviceFilter, listDevices } from '#fleet/devices/list'

const pageSize = 1_000

export type DeviceExport = {
  /** The next devices, or null at the end. One that existed at the first call and still exists comes exactly once. */
  next(): Promise<Device[] | null>
  /** Throws 403 or 404 when this principal may no longer read every organization the export began with. */
  check(principal: Principal): void
}

/** All devices a list with this filter shows, newest first, a page at a time (`device:read`). Throws like the list. */
export async function openDeviceExport(ctx: FleetContext, filter: DeviceFilter): Promise<DeviceExport> {
  let ready: Device[] | undefined
  let after: string | null = null
  const read = async (): Promise<Device[]> => {
    const page = await listDevices(ctx, filter, { limit: pageSize, after: after ?? undefined })
    after = page.nextAfter
    return page.items
  }
  ready = await read()
  const organizations = filter.orgId === undefined ? organizationsWith(ctx.principal, 'device:read') : [filter.orgId]
  return {
    async next() {
      const devices = ready ?? (after === null ? null : await read())
      ready = undefined
      return devices
    },
    check(principal) {
      if (organizations === 'all') requirePlatform(principal)
      else for (const organizationId of organizations) authorize(principal, organizationId, 'device:read')
    },
  }
}
