import { forEachInSlices } from '#core/slices'
import type { FleetContext } from '#fleet/context'
import { deviceRequestOf, type GpsRequest } from '#fleet-map/gps/gps-request'
import type { MapDeviceState } from '#fleet-map/live/device-state'
import type { LiveMaps } from '#fleet-map/live/live-maps'
import { devicesToVisit } from '#fleet-map/selection/candidates'
import { matches, type ShownDevice, shownDevice } from '#fleet-map/selection/filter'
import type { Reader } from '#questdb/copies/readers'

/** `nextId`: the last device of the page, unless it is the last one of all. `matched`: how many devices the request selects. */
type DevicesById = { devices: ShownDevice[]; nextId: string | null; matched: number; nowMs: number }

type Selected = { device: MapDeviceState; fromMs: number }

/**
 * The devices of a request after `afterId`, in the order of their ids. That order is the same in all processes; the order of a
 * map is not, and each page can be read from another process.
 */
export async function readDevicesById(
  ctx: FleetContext,
  fleet: { live: LiveMaps },
  reader: Reader,
  request: GpsRequest,
  { afterId = '', limit }: { afterId?: string | undefined; limit: number },
): Promise<DevicesById> {
  const nowMs = ctx.clock()
  const { filter } = deviceRequestOf(request)
  const windows = await Promise.all(
    request.organizations.map(async ({ organizationId, windowMs }) => {
      const fromMs = nowMs - windowMs
      return { map: await fleet.live.read(organizationId, fromMs, reader), fromMs }
    }),
  )
  const page = createPage(afterId, limit + 1)
  let matched = 0
  for (const { map, fromMs } of windows) {
    await forEachInSlices(devicesToVisit({ map, fromMs }, { filter, nowMs }, undefined, undefined), (device) => {
      if (!matches(device, fromMs, filter)) return
      matched++
      page.add({ device, fromMs })
    })
  }
  const found = page.end()
  const shown = found.slice(0, limit)
  const nextId = found.length > limit ? shown.at(-1)?.device.entry.deviceId : undefined
  return {
    devices: shown.map(({ device, fromMs }) => shownDevice(device, fromMs)),
    nextId: nextId ?? null,
    ...{ matched, nowMs },
  }
}

/** Keeps the first devices by id of those that it is given, sorted only when there are twice as many. */
function createPage(afterId: string, size: number) {
  let kept: Selected[] = []
  let lastId: string | undefined
  const shorten = () => {
    kept = kept.sort((a, b) => (a.device.entry.deviceId < b.device.entry.deviceId ? -1 : 1)).slice(0, size)
    if (kept.length === size) lastId = kept.at(-1)?.device.entry.deviceId
  }
  return {
    add(selected: Selected): void {
      const { deviceId } = selected.device.entry
      if (deviceId <= afterId || (lastId !== undefined && deviceId > lastId)) return
      kept.push(selected)
      if (kept.length >= 2 * size) shorten()
    },
    end(): Selected[] {
      shorten()
      return kept
    },
  }
}
