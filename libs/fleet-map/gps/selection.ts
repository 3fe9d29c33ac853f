import { filterInSlices } from '#core/slices'
import { type DeviceFilter, isOpen, matches, type ShownDevice, shownDevice } from '#fleet-map/filter'
import type { DeviceState } from '#fleet-map/live/device-state'
import type { OrganizationMap } from '#fleet-map/live/organization-map'

/** The map of an organization, and the start of the response's window. */
export type MapWindow = { map: OrganizationMap; fromMs: number }

/** What the reader already has: the state at a revision and a time. */
export type Seen = {
  revision: number
  timeMs: number
  /** Devices that the filter selected then; undefined if they are not cached. */
  deviceIds: ReadonlySet<string> | undefined
}

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
  filter: DeviceFilter
  limit: number
  after?: DevicePosition | undefined
  seen?: Seen | undefined
  nowMs: number
  /** Whether to return `matchingIds`, for a later delta. */
  collectIds: boolean
  /** What `findCandidates` returned for these maps and this filter, or for an earlier time. */
  found?: readonly Found[] | undefined
}

/** The devices that a filter selected in a map at a revision. */
export type Found = { revision: number; devices: readonly DeviceState[] }

/**
 * Finds the devices that a filter selects, in slices, so that a large map does not hold up other requests. The maps can change
 * meanwhile: `selectDevices` visits what has changed again.
 */
export function findCandidates(windows: readonly MapWindow[], filter: DeviceFilter): Promise<Found[]> {
  return Promise.all(
    windows.map(async ({ map, fromMs }) => {
      const revision = map.changedAt()
      const isSelected = (device: DeviceState) => matches(device, fromMs, filter)
      return { revision, devices: await filterInSlices(candidates(map, filter), isSelected) }
    }),
  )
}

/** Selects the devices of a response from the maps, which must be in order of their organization ids. */
export function selectDevices(windows: readonly MapWindow[], request: SelectionRequest): Selection {
  const { filter, limit, after, seen, collectIds } = request
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
    for (const id of base?.goneFrom(map) ?? []) matchingIds?.delete(id)
    const visited =
      base?.newsOf(map, fromMs) ??
      visitedAgain(map, fromMs, request, index) ??
      // A reader also learns which devices have left the box.
      candidates(map, seen ? { deviceIds: filter.deviceIds } : filter)
    for (const device of visited) {
      const { deviceId } = device.entry
      validUntilMs = Math.min(validUntilMs, request.nowMs + oldestMs(device, fromMs) - fromMs)
      const isNews =
        seen &&
        seenFromMs !== undefined &&
        (device.revision > seen.revision || hasDataFrom(device, { fromMs: seenFromMs, toMs: fromMs }))
      if (!matches(device, fromMs, filter)) {
        if (isNews && !seen.deviceIds) leftIds.push(deviceId)
        if (base) matchingIds?.delete(deviceId)
        continue
      }
      matchingIds?.add(deviceId)
      const isWanted = !seen || isNews || (seen.deviceIds !== undefined && !seen.deviceIds.has(deviceId))
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

/**
 * What a delta can start from, so that it visits only what is new in the maps. Undefined if it must visit all devices: then
 * it is unknown what the filter selected before, or the filter can change without a change in the maps.
 */
export function knownBase(
  windows: readonly MapWindow[],
  { filter, seen, nowMs }: Pick<SelectionRequest, 'filter' | 'seen' | 'nowMs'>,
) {
  if (!seen || filter.members || filter.deviceIds || !(seen.deviceIds || isOpen(filter))) return undefined
  const { revision, timeMs, deviceIds } = seen
  if (windows.some(({ map }) => map.knownSince() > revision)) return undefined
  return {
    deviceIds,
    goneFrom: (map: OrganizationMap) => map.goneSince(revision),
    newsOf: (map: OrganizationMap, fromMs: number) =>
      map.newsSince(revision, { fromMs: fromMs - (nowMs - timeMs), toMs: fromMs }),
  }
}

/** The devices that were found and are still in the map, and those that have changed. Undefined if none were looked for. */
function visitedAgain(
  map: OrganizationMap,
  fromMs: number,
  { found, seen, nowMs }: SelectionRequest,
  index: number,
): DeviceState[] | undefined {
  const known = found?.[index]
  if (!known) return undefined
  const news = [
    ...map.newsSince(known.revision),
    ...(seen ? map.newsSince(seen.revision, { fromMs: fromMs - (nowMs - seen.timeMs), toMs: fromMs }) : []),
  ]
  const kept = known.devices.filter((device) => map.deviceAt(device.ordinal) === device)
  return news.length === 0 ? kept : [...new Set([...kept, ...news])].sort((a, b) => a.ordinal - b.ordinal)
}

/** The devices that a filter can select, in the order of the map. A filter by id or by box visits no other devices. */
function candidates(
  map: OrganizationMap,
  { deviceIds, bbox, area }: Pick<DeviceFilter, 'deviceIds' | 'bbox' | 'area'>,
): Iterable<DeviceState> {
  const box = bbox ?? area?.bounds
  if (!deviceIds) return box ? map.devicesWithin(box) : map.devices()
  const found = [...new Set(deviceIds)].flatMap((deviceId) => map.device(deviceId) ?? [])
  return found.sort((a, b) => a.ordinal - b.ordinal)
}

/** The time of the older one of position and signal, of those since `fromMs`; Infinity if there is none. */
const oldestMs = ({ locatedAtMs, measuredAtMs }: DeviceState, fromMs: number): number =>
  Math.min(sinceOrNever(locatedAtMs, fromMs), sinceOrNever(measuredAtMs, fromMs))

const sinceOrNever = (ms: number | null, fromMs: number): number =>
  ms !== null && ms >= fromMs ? ms : Number.POSITIVE_INFINITY

/** Whether the position or the signal is from [fromMs, toMs): the reader has it, and it is now older than the window. */
function hasDataFrom({ locatedAtMs, measuredAtMs }: DeviceState, { fromMs, toMs }: { fromMs: number; toMs: number }) {
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
