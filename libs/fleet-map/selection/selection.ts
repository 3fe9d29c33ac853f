import type { MapDeviceState } from '#fleet-map/live/device-state'
import { devicesToVisit, type Found, knownBase, type MapWindow, type Seen } from '#fleet-map/selection/candidates'
import { type MapFilter, matches, type ShownDevice, shownDevice } from '#fleet-map/selection/filter'

/** The end of a page. */
export type DevicePosition = { organizationId: string; ordinal: number }

export type Selection = {
  devices: ShownDevice[]
  /** The end of this page; null on the last page. */
  next: DevicePosition | null
  /** All devices that the filter selects, changed or not. */
  matchingIds: Set<string> | undefined
  /** Devices that the filter no longer selects, or may have selected before. */
  leftIds: string[]
  /** Changes when the content of the selection changes. */
  digest: string
  /** If the maps do not change, the selection is valid until data leaves the window at this time. */
  validUntilMs: number
}

export type SelectionRequest = {
  filter: MapFilter
  limit: number
  after?: DevicePosition | undefined
  seen?: Seen | undefined
  nowMs: number
  /** Whether to return `matchingIds`, for a later delta. */
  collectIds: boolean
  /** What `findCandidates` returned for these maps and this filter, or for an earlier time. */
  found?: readonly Found[] | undefined
}

/** Selects the devices of a response from the maps, which must be in order of their organization ids. */
export function selectDevices(windows: readonly MapWindow[], request: SelectionRequest): Selection {
  const { filter, limit, after, seen, collectIds, found } = request
  const devices: ShownDevice[] = []
  const base = knownBase(windows, request)
  const matchingIds = collectIds ? new Set<string>(base?.deviceIds) : undefined
  const leftIds: string[] = []
  const digest = createDigest()
  let next: DevicePosition | null = null
  let validUntilMs = Number.POSITIVE_INFINITY
  for (const [index, { map, fromMs }] of windows.entries()) {
    digest.add(index)
    const { organizationId } = map
    const seenFromMs = seen && fromMs - (request.nowMs - seen.timeMs)
    for (const id of base ? map.goneSince(base.revision) : []) matchingIds?.delete(id)
    for (const device of devicesToVisit({ map, fromMs }, request, base, found?.[index])) {
      const { deviceId } = device.entry
      validUntilMs = Math.min(validUntilMs, request.nowMs + oldestMs(device, fromMs) - fromMs)
      const isChanged =
        seen &&
        seenFromMs !== undefined &&
        (device.revision > seen.revision || hasDataFrom(device, { fromMs: seenFromMs, toMs: fromMs }))
      if (!matches(device, fromMs, filter)) {
        if (isChanged && !seen.deviceIds) leftIds.push(deviceId)
        if (base) matchingIds?.delete(deviceId)
        continue
      }
      matchingIds?.add(deviceId)
      const isWanted = !seen || isChanged || (seen.deviceIds !== undefined && !seen.deviceIds.has(deviceId))
      if (!isWanted || next || isBefore(organizationId, device.ordinal, after)) continue
      if (devices.length >= limit) {
        const last = devices.at(-1)?.device
        next = last ? { organizationId: last.entry.organizationId, ordinal: last.ordinal } : null
        // Only a filter and a delta must know about the devices of later pages.
        if (!collectIds && !seen) break
        continue
      }
      const shown = shownDevice(device, fromMs)
      devices.push(shown)
      digest.add(device.ordinal, device.revision, (shown.location ? 1 : 0) + (shown.signal ? 2 : 0))
    }
  }
  if (seen?.deviceIds && matchingIds) for (const id of seen.deviceIds) if (!matchingIds.has(id)) leftIds.push(id)
  return { devices, next, matchingIds, leftIds, digest: digest.end(), validUntilMs }
}

/** The time of the older one of position and signal, of those since `fromMs`; Infinity if there is none. */
const oldestMs = ({ locatedAtMs, measuredAtMs }: MapDeviceState, fromMs: number): number =>
  Math.min(sinceOrNever(locatedAtMs, fromMs), sinceOrNever(measuredAtMs, fromMs))

const sinceOrNever = (ms: number | null, fromMs: number): number =>
  ms !== null && ms >= fromMs ? ms : Number.POSITIVE_INFINITY

/** Whether the position or the signal is from [fromMs, toMs): the reader has it, and it is now older than the window. */
function hasDataFrom(
  { locatedAtMs, measuredAtMs }: MapDeviceState,
  { fromMs, toMs }: { fromMs: number; toMs: number },
) {
  const isWithin = (ms: number | null) => ms !== null && ms >= fromMs && ms < toMs
  return isWithin(locatedAtMs) || isWithin(measuredAtMs)
}

const isBefore = (organizationId: string, ordinal: number, after: DevicePosition | undefined): boolean =>
  after !== undefined &&
  (organizationId < after.organizationId || (organizationId === after.organizationId && ordinal <= after.ordinal))

/** FNV-1a over integers in two lanes: a change detector, not a signature. */
function createDigest() {
  let low = 0x811c9dc5
  let high = 0x01000193
  const mix = (value: number) => {
    low = Math.imul(low ^ (value | 0), 0x01000193)
    high = Math.imul(high ^ (value / 2 ** 32 + value), 0x85ebca6b)
  }
  return {
    add: (...values: number[]) => values.forEach(mix),
    end: () => (low >>> 0).toString(16).padStart(8, '0') + (high >>> 0).toString(16).padStart(8, '0'),
  }
}
