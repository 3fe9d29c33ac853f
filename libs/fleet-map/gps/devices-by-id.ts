import { forEachInSlices } from '#core/slices'
import type { FleetContext } from '#fleet/context'
import { deviceRequestOf, type GpsRequest } from '#fleet-map/gps/gps-request'
import type { MapDeviceState } from '#fleet-map/live/device-state'
import type { LiveMaps } from '#fleet-map/live/live-maps'
import { devicesToVisit } from '#fleet-map/selection/candidates'
import { matches, type ShownDevice, shownDevice } from '#fleet-map/selection/filter'
import type { Reader } from '#questdb/copies/readers'

/** The end of a page. `leadId`: the device that came first of all. */
export type PlaceById = { leadId: string | null; afterId: string }

/** `next`: the end of the page, unless it is the last one. `matched`: how many devices the request selects. */
type DevicesById = { devices: ShownDevice[]; next: PlaceById | null; matched: number; nowMs: number }

type Selected = { device: MapDeviceState; fromMs: number }

/**
 * The devices of a request after a place, in the order of their ids. That order is the same in all processes; the order of a
 * map is not, and each page can be read from another process. A device with a position and a signal comes before all others,
 * because programs take the kind of geometry from the first features.
 */
export async function readDevicesById(
  ctx: FleetContext,
  fleet: { live: LiveMaps },
  reader: Reader,
  request: GpsRequest,
  { after, limit }: { after: PlaceById | undefined; limit: number },
): Promise<DevicesById> {
  const nowMs = ctx.clock()
  const { filter } = deviceRequestOf(request)
  const windows = await Promise.all(
    request.organizations.map(async ({ organizationId, windowMs }) => {
      const fromMs = nowMs - windowMs
      return { map: await fleet.live.read(organizationId, fromMs, reader), fromMs }
    }),
  )
  const page = createPage(after?.afterId ?? '', limit + 1)
  let matched = 0
  let lead: Selected | undefined
  for (const { map, fromMs } of windows) {
    await forEachInSlices(devicesToVisit({ map, fromMs }, { filter, nowMs }, undefined, undefined), (device) => {
      if (!matches(device, fromMs, filter)) return
      matched++
      const selected = { device, fromMs }
      if (!after && isBetterLead(selected, lead)) lead = selected
      if (device.entry.deviceId !== after?.leadId) page.add(selected)
    })
  }
  const others = page.end().filter(({ device }) => device !== lead?.device)
  const found = lead ? [lead, ...others] : others
  const shown = found.slice(0, limit)
  const lastOther = lead ? shown.slice(1).at(-1) : shown.at(-1)
  return {
    devices: shown.map(({ device, fromMs }) => shownDevice(device, fromMs)),
    next:
      found.length > limit
        ? { leadId: after?.leadId ?? (lead ? idOf(lead) : null), afterId: lastOther ? idOf(lastOther) : '' }
        : null,
    ...{ matched, nowMs },
  }
}

const idOf = ({ device }: Selected): string => device.entry.deviceId

/** Of devices with a position, those with a signal lead, and of these the one with the lowest id. */
function isBetterLead(selected: Selected, lead: Selected | undefined): boolean {
  if (!isIn(selected.device.locatedAtMs, selected.fromMs)) return false
  if (!lead) return true
  const [hasSignal, leadHas] = [selected, lead].map(({ device, fromMs }) => isIn(device.measuredAtMs, fromMs))
  return hasSignal === leadHas ? idOf(selected) < idOf(lead) : hasSignal === true
}

const isIn = (ms: number | null, fromMs: number): boolean => ms !== null && ms >= fromMs

/** Keeps the first devices by id of those that it is given, sorted only when there are twice as many. */
function createPage(afterId: string, size: number) {
  let kept: Selected[] = []
  let lastId: string | undefined
  const shorten = () => {
    kept = kept.sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1)).slice(0, size)
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
