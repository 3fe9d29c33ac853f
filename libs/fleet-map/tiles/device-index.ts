import { forEachInSlices } from '#core/slices'
import { type DeviceFilter, matches, shownLocation, shownSignal } from '#fleet-map/filter'
import type { GroupMembers } from '#fleet-map/group-members'
import { createBuckets } from '#fleet-map/live/buckets'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { type CellLevel, createCellLevel } from '#fleet-map/tiles/cell-level'
import { createDeviceTable, type DeviceReference, type PlacedDevice, placedDevice } from '#fleet-map/tiles/device-table'
import { createIndexLevels, type LevelKey } from '#fleet-map/tiles/index-levels'
import { createPointLevel, type Level, type PointLevel } from '#fleet-map/tiles/level'
import { createOverview, type FleetOverview } from '#fleet-map/tiles/overview'
import { bucketZoomOf, pointsFromZoom } from '#fleet-map/tiles/zoom-levels'

/** Selects the devices of an index. `members` is replaced by `setMembers`. */
export type IndexFilter = Pick<DeviceFilter, 'tags' | 'rat' | 'plmn' | 'members'> & { status?: string | undefined }

/** The map of an organization, and how far back positions count. */
export type IndexedMap = { map: OrganizationMap; windowMs: number }

/**
 * The devices of some organizations that have a position and match a filter, by cell and by tile. The first read visits all
 * devices; later ones visit those that changed. Between reads, changes are applied soon after they come. Each level (a resolution,
 * or points) is made at its first use and forgotten when it was not read for five minutes.
 */
export type DeviceIndex = {
  readonly maps: readonly IndexedMap[]
  /** Applies the changes of the maps, and returns the counts by cell of this resolution. */
  cells(resolution: number, nowMs: number): Promise<CellLevel>
  /** Applies the changes of the maps, and returns the devices by tile. */
  points(nowMs: number): Promise<PointLevel>
  /** Applies the changes of the maps, and returns what the index has as a whole. */
  overview(nowMs: number): Promise<FleetOverview>
  device(row: number): PlacedDevice | undefined
  deviceOf(row: number): DeviceReference
  /** Replaces the members of the filter's group. The filter must have had members. */
  setMembers(members: GroupMembers): void
  /** Estimated bytes in memory. */
  bytes(): number
  /** Stops following the maps. */
  close(): void
}

/** Runs the first visit of all devices when it is the caller's turn. */
export type FillTurn = (work: () => Promise<void>) => Promise<void>

// Changes come in groups, when the live map has read new telemetry.
const appliedAfterMs = 500

export function createDeviceIndex(
  maps: readonly IndexedMap[],
  filter: IndexFilter,
  fillTurn: FillTurn = (work) => work(),
): DeviceIndex {
  const table = createDeviceTable(maps.length)
  const levels = createIndexLevels(table)
  /** Rows by the second at which data of the device leaves the window. */
  const expiries = createBuckets()
  const overview = createOverview()
  let expiredToS: number | undefined
  let { members } = filter
  /** By map: ordinals of devices with changes that are not applied yet. */
  const changed = maps.map(() => new Set<number>())
  let applying: NodeJS.Timeout | undefined
  const unwatch = maps.map(({ map }, index) =>
    map.watch((ordinal) => {
      changed[index]?.add(ordinal)
      applying ??= setTimeout(() => void applyBetweenReads(), appliedAfterMs).unref()
    }),
  )
  let isFilled = false
  /** The latest time of a read. Time must not go back, because expired data would stay. */
  let latestMs = 0
  let working: Promise<unknown> = Promise.resolve()

  /** Brings a device's row up to date, and notes the change for the levels. */
  const refresh = (index: number, ordinal: number): void => {
    const indexed = maps[index]
    if (!indexed) return
    const after = placeOf(indexed, ordinal, { ...filter, members }, latestMs)
    const row = after ? table.rowOf(index, ordinal) : table.knownRow(index, ordinal)
    if (row === undefined) return
    const before = table.placed(row)
    levels.change(row, before, after?.device)
    overview.change(before, after?.device)
    if (after?.plmn) overview.operator(after.plmn, after.operatorName)
    table.place(row, after?.device)
    if (after) expiries.place(row, Math.floor((after.oldestMs + indexed.windowMs) / 1_000) + 1)
    else expiries.remove(row)
  }

  const fill = async (): Promise<void> => {
    for (const [index, { map }] of maps.entries()) {
      await forEachInSlices(map.devices(), ({ ordinal }) => refresh(index, ordinal))
    }
    isFilled = true
  }
  const applyChanges = async (): Promise<void> => {
    for (const [index, ordinals] of changed.entries()) {
      const some = [...ordinals]
      ordinals.clear()
      await forEachInSlices(some, (ordinal) => refresh(index, ordinal))
    }
  }
  const expire = async (): Promise<void> => {
    const nowS = Math.floor(latestMs / 1_000)
    const due: number[] = []
    for (let second = (expiredToS ?? nowS) + 1; second <= nowS; second++) {
      expiries.forEach(second, (row) => due.push(row))
    }
    expiredToS = nowS
    await forEachInSlices(due, (row) => {
      const { map, ordinal } = table.deviceOf(row)
      refresh(map, ordinal)
    })
  }

  /** One after another, because a level must not change while it is filled. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = working.then(work)
    working = result.catch(() => {})
    return result
  }
  const read = <Result>(nowMs: number, work: () => Promise<Result>): Promise<Result> =>
    inTurn(async () => {
      latestMs = Math.max(latestMs, nowMs)
      levels.forget(latestMs)
      if (!isFilled) await fillTurn(fill)
      await applyChanges()
      await expire()
      return work()
    })
  const readLevel = <Made extends Level>(nowMs: number, key: LevelKey<Made>): Promise<Made> =>
    read(nowMs, () => levels.read(key, latestMs))

  /** Applies changes that no reader waits for. A reader waits for one level at most. */
  async function applyBetweenReads(): Promise<void> {
    applying = undefined
    try {
      if (isFilled) await inTurn(applyChanges)
      while (await inTurn(levels.catchUp));
    } catch {
      // The next read visits all devices again, and its caller gets the error.
      isFilled = false
    }
  }

  return {
    maps,
    cells: (resolution, nowMs) =>
      readLevel(nowMs, {
        name: `cells of ${resolution}`,
        create: () => createCellLevel(resolution, bucketZoomOf(resolution)),
      }),
    points: (nowMs) => readLevel(nowMs, { name: 'points', create: () => createPointLevel(pointsFromZoom) }),
    overview: (nowMs) => read(nowMs, () => overview.read(table, latestMs)),
    device: table.placed,
    deviceOf: table.deviceOf,
    setMembers(next) {
      if (next === members) return
      const before = members
      members = next
      for (const [index, { map }] of maps.entries()) {
        for (const { ordinal } of maybeChanged(map, before, next)) changed[index]?.add(ordinal)
      }
    },
    bytes: () => table.bytes() + expiries.bytes() + levels.bytes(),
    close() {
      for (const stop of unwatch) stop()
      clearTimeout(applying)
    },
  }
}

/** A device that the index has. `oldestMs` is the time of its oldest data. */
type IndexedDevice = { device: PlacedDevice; oldestMs: number; plmn: string | null; operatorName: string | null }

/** The place, the age and the operator of a device; undefined if the index does not have it. */
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
    plmn: signal?.plmn ?? null,
    operatorName: signal?.operatorName ?? null,
  }
}

/** The devices of a map that may have joined or left a group. */
function maybeChanged(map: OrganizationMap, before: GroupMembers | undefined, after: GroupMembers) {
  if (before?.group.smartTags.join() !== after.group.smartTags.join()) return map.devices()
  return [...symmetricDifference(before.explicitIds, after.explicitIds)].flatMap((id) => map.device(id) ?? [])
}

function* symmetricDifference(a: ReadonlySet<string>, b: ReadonlySet<string>): Generator<string> {
  for (const item of a) if (!b.has(item)) yield item
  for (const item of b) if (!a.has(item)) yield item
}
