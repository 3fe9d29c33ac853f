import { createBuckets } from '#fleet-map/live/buckets'
import type { MapDeviceState } from '#fleet-map/live/device-state'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { type MapFilter, matches, shownLocation, shownSignal } from '#fleet-map/selection/filter'
import type { GroupMembers } from '#fleet-map/selection/group-members'
import {
  createDeviceTable,
  type DeviceReference,
  type DeviceTable,
  type PlacedDevice,
  placedDevice,
} from '#fleet-map/tiles/device-table'
import { createIndexLevels, type IndexLevels } from '#fleet-map/tiles/index-levels'
import { createOverview, type OverviewKeeper } from '#fleet-map/tiles/overview'
import type { SignalRow } from '#questdb/fleet/fleet-gps'

/** Selects the devices of an index. `members` is replaced by `setMembers`. */
export type IndexFilter = Pick<MapFilter, 'tags' | 'rat' | 'plmn' | 'signal' | 'members'> & {
  status?: string | undefined
}

/** The map of an organization, and how far back positions count. */
export type IndexedMap = { map: OrganizationMap; windowMs: number }

/** The devices of some maps that have a position and match a filter: their table, and what is counted from it. */
export type PlacedDevices = {
  table: DeviceTable
  levels: IndexLevels
  overview: OverviewKeeper
  /** Brings a device's row up to date, and notes the change for the levels. */
  refresh(map: number, ordinal: number, nowMs: number): void
  /** Devices with data that left the window since the last call. */
  expired(nowMs: number): DeviceReference[]
  /** Replaces the members of the filter's group. Returns the devices that may have joined or left. */
  setMembers(members: GroupMembers): DeviceReference[]
  bytes(): number
}

export function createPlacedDevices(maps: readonly IndexedMap[], filter: IndexFilter): PlacedDevices {
  const table = createDeviceTable(maps.length)
  const levels = createIndexLevels(table)
  const overview = createOverview()
  /** Rows by the second at which data of the device leaves the window. */
  const expiries = createBuckets()
  let expiredToS: number | undefined
  let { members } = filter
  return {
    ...{ table, levels, overview },
    refresh(index, ordinal, nowMs) {
      const indexed = maps[index]
      if (!indexed) return
      const after = placeOf(indexed, ordinal, { ...filter, members }, nowMs)
      const row = after ? table.rowOf(index, ordinal) : table.knownRow(index, ordinal)
      if (row === undefined) return
      const before = table.placed(row)
      levels.change(row, before, after?.device)
      overview.change(before, after?.device)
      for (const { plmn, operatorName } of after?.signals ?? []) if (plmn) overview.operator(plmn, operatorName)
      table.place(row, after?.device)
      if (after) expiries.place(row, Math.floor((after.oldestMs + indexed.windowMs) / 1_000) + 1)
      else expiries.remove(row)
    },
    expired(nowMs) {
      const nowS = Math.floor(nowMs / 1_000)
      const due: DeviceReference[] = []
      for (let second = (expiredToS ?? nowS) + 1; second <= nowS; second++) {
        expiries.forEach(second, (row) => due.push(table.deviceOf(row)))
      }
      expiredToS = nowS
      return due
    },
    setMembers(next) {
      if (next === members) return []
      const before = members
      members = next
      return maps.flatMap(({ map }, index) =>
        [...maybeChanged(map, before, next)].map(({ ordinal }) => ({ map: index, ordinal })),
      )
    },
    bytes: () => table.bytes() + expiries.bytes() + levels.bytes(),
  }
}

/** A device that the index has. `oldestMs` is the time of its oldest data, `signals` has those of all of its modems. */
type IndexedDevice = {
  device: PlacedDevice
  oldestMs: number
  signals: readonly Pick<SignalRow, 'plmn' | 'operatorName'>[]
}

/** The place, the age and the signals of a device; undefined if the index does not have it. */
function placeOf(
  { map, windowMs }: IndexedMap,
  ordinal: number,
  { status, ...filter }: IndexFilter,
  nowMs: number,
): IndexedDevice | undefined {
  const state = map.deviceAt(ordinal)
  if (!state || (status !== undefined && state.entry.status !== status)) return undefined
  const fromMs = nowMs - windowMs
  if (!matches(state, fromMs, filter)) return undefined
  const location = shownLocation(state, fromMs)
  if (!location) return undefined
  const signal = shownSignal(state, fromMs)
  return {
    device: placedDevice(location, state.entry.status, signal?.quality),
    oldestMs: Math.min(location.tsMs, signal?.tsMs ?? Number.POSITIVE_INFINITY),
    signals: signal ? signalsOf(state, signal, fromMs) : [],
  }
}

/** The signals of the modems of a device since `fromMs`: the one of its active modem, and those of the others if it names them. */
const signalsOf = (state: MapDeviceState, active: SignalRow, fromMs: number): SignalRow[] =>
  active.modem === null ? [active] : state.modems.flatMap(({ signal }) => (signal.tsMs >= fromMs ? [signal] : []))

/** The devices of a map that may have joined or left a group. */
function maybeChanged(map: OrganizationMap, before: GroupMembers | undefined, after: GroupMembers) {
  // A tag can contain a comma.
  const tagsOf = ({ group }: GroupMembers) => JSON.stringify(group.smartTags)
  if (before === undefined || tagsOf(before) !== tagsOf(after)) return map.devices()
  return [...symmetricDifference(before.explicitIds, after.explicitIds)].flatMap((id) => map.device(id) ?? [])
}

function* symmetricDifference(a: ReadonlySet<string>, b: ReadonlySet<string>): Generator<string> {
  for (const item of a) if (!b.has(item)) yield item
  for (const item of b) if (!a.has(item)) yield item
}
