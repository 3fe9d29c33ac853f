import { isSliceOver, nextSlice } from '#core/slices'
import { type DeviceFilter, matches, shownDevice } from '#fleet-map/filter'
import { createBuckets } from '#fleet-map/live/buckets'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { type CellLevel, createCellLevel } from '#fleet-map/tiles/cell-level'
import { createDeviceTable, type DeviceReference, type PlacedDevice, placedDevice } from '#fleet-map/tiles/device-table'
import { createPointLevel, type Level, type PointLevel } from '#fleet-map/tiles/level'
import { createOverview, type FleetOverview } from '#fleet-map/tiles/overview'
import { bucketZoomOf, pointsFromZoom } from '#fleet-map/tiles/zoom-levels'

/** Selects the devices of an index. `members` is replaced by `setMembers`. */
export type IndexFilter = Pick<DeviceFilter, 'tags' | 'rat' | 'plmn' | 'members'> & { status?: string | undefined }

/** The map of an organization, and how far back positions count. */
export type IndexedMap = { map: OrganizationMap; windowMs: number }

/**
 * The devices of some organizations that have a position and match a filter, by cell and by tile. The first read visits all
 * devices; later reads visit those that changed. Each level (a resolution, or points) is made at its first use and forgotten
 * when it was not read for five minutes.
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
  setMembers(members: ReadonlySet<string>): void
  /** Estimated bytes in memory. */
  bytes(): number
  /** Stops following the maps. */
  close(): void
}

/** Runs the first visit of all devices when it is the caller's turn. */
export type FillTurn = (work: () => Promise<void>) => Promise<void>

type Used<Kept> = { level: Kept; usedMs: number }

// A level that is not read costs memory, and time at each change.
const forgottenAfterMs = 5 * 60_000
const itemsPerCheck = 64

export function createDeviceIndex(
  maps: readonly IndexedMap[],
  filter: IndexFilter,
  fillTurn: FillTurn = (work) => work(),
): DeviceIndex {
  const table = createDeviceTable(maps.length)
  const cellLevels = new Map<number, Used<CellLevel>>()
  const pointLevels = new Map<number, Used<PointLevel>>()
  /** Rows by the second at which data of the device leaves the window. */
  const expiries = createBuckets()
  const overview = createOverview()
  let expiredToS: number | undefined
  let { members } = filter
  /** By map: ordinals of devices that changed since the last read. */
  const changed = maps.map(() => new Set<number>())
  const unwatch = maps.map(({ map }, index) => map.watch((ordinal) => changed[index]?.add(ordinal)))
  let isFilled = false
  /** The latest time of a read. Time must not go back, because expired data would stay. */
  let latestMs = 0
  let working: Promise<unknown> = Promise.resolve()

  const levels = (): Level[] => [...cellLevels.values(), ...pointLevels.values()].map(({ level }) => level)

  /** Brings a device's row up to date in all levels. */
  const refresh = (index: number, ordinal: number): void => {
    const indexed = maps[index]
    if (!indexed) return
    const after = placeOf(indexed, ordinal, { ...filter, members }, latestMs)
    const row = after ? table.rowOf(index, ordinal) : table.knownRow(index, ordinal)
    if (row === undefined) return
    const before = table.placed(row)
    for (const { level } of cellLevels.values()) level.change(row, before, after?.device)
    for (const { level } of pointLevels.values()) level.change(row, before, after?.device)
    overview.change(before, after?.device)
    if (after?.plmn) overview.operator(after.plmn, after.operatorName)
    table.place(row, after?.device)
    if (after) expiries.place(row, Math.floor((after.oldestMs + indexed.windowMs) / 1_000) + 1)
    else expiries.remove(row)
  }

  const fill = async (): Promise<void> => {
    for (const [index, { map }] of maps.entries()) {
      await inSlices(map.devices(), ({ ordinal }) => refresh(index, ordinal))
    }
    isFilled = true
  }
  const applyChanges = async (): Promise<void> => {
    for (const [index, ordinals] of changed.entries()) {
      const some = [...ordinals]
      ordinals.clear()
      await inSlices(some, (ordinal) => refresh(index, ordinal))
    }
  }
  const expire = async (): Promise<void> => {
    const nowS = Math.floor(latestMs / 1_000)
    const due: number[] = []
    for (let second = (expiredToS ?? nowS) + 1; second <= nowS; second++) {
      expiries.forEach(second, (row) => due.push(row))
    }
    expiredToS = nowS
    await inSlices(due, (row) => {
      const { map, ordinal } = table.deviceOf(row)
      refresh(map, ordinal)
    })
  }
  const forgetLevels = <Kept extends Level>(kept: Map<number, Used<Kept>>): void => {
    for (const [key, { usedMs }] of kept) if (latestMs - usedMs > forgottenAfterMs) kept.delete(key)
  }
  const fillLevel = async <Made extends Level>(level: Made): Promise<Made> => {
    await inSlices(numbersTo(table.rows()), (row) => {
      const device = table.placed(row)
      if (device) level.change(row, undefined, device)
    })
    return level
  }

  const levelOf = async <Made extends Level>(
    kept: Map<number, Used<Made>>,
    key: number,
    create: () => Made,
  ): Promise<Made> => {
    const level = kept.get(key)?.level ?? (await fillLevel(create()))
    kept.set(key, { level, usedMs: latestMs })
    return level
  }

  /** One after another, because a level must not change while it is filled. */
  const inTurn = <Result>(nowMs: number, work: () => Promise<Result>): Promise<Result> => {
    const result = working.then(async () => {
      latestMs = Math.max(latestMs, nowMs)
      forgetLevels(cellLevels)
      forgetLevels(pointLevels)
      if (!isFilled) await fillTurn(fill)
      await applyChanges()
      await expire()
      return work()
    })
    working = result.catch(() => {})
    return result
  }

  return {
    maps,
    cells: (resolution, nowMs) =>
      inTurn(nowMs, () => levelOf(cellLevels, resolution, () => createCellLevel(resolution, bucketZoomOf(resolution)))),
    points: (nowMs) =>
      inTurn(nowMs, () => levelOf(pointLevels, pointsFromZoom, () => createPointLevel(pointsFromZoom))),
    overview: (nowMs) => inTurn(nowMs, () => overview.read(table, latestMs)),
    device: table.placed,
    deviceOf: table.deviceOf,
    setMembers(next) {
      if (next === members) return
      const differing = [...symmetricDifference(members ?? new Set(), next)]
      members = next
      for (const [index, { map }] of maps.entries()) {
        for (const deviceId of differing) {
          const device = map.device(deviceId)
          if (device) changed[index]?.add(device.ordinal)
        }
      }
    },
    bytes: () => table.bytes() + expiries.bytes() + levels().reduce((sum, level) => sum + level.bytes(), 0),
    close() {
      for (const stop of unwatch) stop()
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
  const shown = shownDevice(state, nowMs - windowMs)
  const { location, signal } = shown
  if (!location || !matches(shown, filter)) return undefined
  return {
    device: placedDevice(location, state.entry.status, signal?.quality),
    oldestMs: Math.min(location.tsMs, signal?.tsMs ?? Number.POSITIVE_INFINITY),
    plmn: signal?.plmn ?? null,
    operatorName: signal?.operatorName ?? null,
  }
}

async function inSlices<Item>(items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
  let count = 0
  for (const item of items) {
    if (count++ % itemsPerCheck === 0 && isSliceOver()) await nextSlice()
    work(item)
  }
}

function* numbersTo(end: number): Generator<number> {
  for (let number = 0; number < end; number++) yield number
}

function* symmetricDifference(a: ReadonlySet<string>, b: ReadonlySet<string>): Generator<string> {
  for (const item of a) if (!b.has(item)) yield item
  for (const item of b) if (!a.has(item)) yield item
}
