import { authorize, organizationsWith, type Principal, requirePlatform } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import type { Device } from '#fleet/devices/device'
import { type DeviceListRequest, listDevices } from '#fleet/devices/list'

const pageSize = 1_000

type DeviceExport = {
  /** Returns the next devices, or null at the end. A device that exists from the first to the last call is returned once, unless its place in a sorted export changes. */
  next(): Promise<Device[] | null>
  /** Throws 403 or 404 when the principal may no longer read every organization of the export. */
  check(principal: Principal): void
}

/**
 * Exports all devices that match the filter, newest first or in the order of `sort`, in pages of 1,000 (`device:read`). Reads the
 * next page while the caller uses the last one. Throws like `listDevices`.
 */
export async function openDeviceExport(ctx: FleetContext, request: DeviceListRequest): Promise<DeviceExport> {
  const { filter } = request
  const read = (after?: string) => listDevices(ctx, { ...request, page: { limit: pageSize, after } })
  let coming: ReturnType<typeof read> | undefined = Promise.resolve(await read())
  const organizations = filter.orgId === undefined ? organizationsWith(ctx.principal, 'device:read') : [filter.orgId]
  return {
    async next() {
      const page = await coming
      coming = page && page.nextAfter !== null ? read(page.nextAfter) : undefined
      // The next call receives the error.
      coming?.catch(() => undefined)
      return page?.items ?? null
    },
    check(principal) {
      if (organizations === 'all') requirePlatform(principal)
      else for (const organizationId of organizations) authorize(principal, organizationId, 'device:read')
    },
  }
}
