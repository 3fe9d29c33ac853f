import { forEachInSlices } from '#core/slices'
import type { GroupMembers } from '#fleet-map/selection/group-members'
import { type CellLevel, createCellLevel } from '#fleet-map/tiles/cell-level'
import type { DeviceReference, PlacedDevice } from '#fleet-map/tiles/device-table'
import type { LevelKey } from '#fleet-map/tiles/index-levels'
import { createPointLevel, type PointLevel } from '#fleet-map/tiles/level'
import type { FleetOverview } from '#fleet-map/tiles/overview'
import { createPlacedDevices, type IndexedMap, type IndexFilter } from '#fleet-map/tiles/placed-devices'
import { bucketZoomOf, pointsFromZoom } from '#fleet-map/tiles/zoom-levels'

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
  const placed = createPlacedDevices(maps, filter)
  const { table, levels, overview } = placed
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
  // One after another, because a level must not change while it is filled.
  const inTurn = createTurns()

  const fill = async (): Promise<void> => {
    for (const [index, { map }] of maps.entries()) {
      await forEachInSlices(map.devices(), ({ ordinal }) => placed.refresh(index, ordinal, latestMs))
    }
    isFilled = true
  }
  const applyChanges = async (): Promise<void> => {
    for (const [index, ordinals] of changed.entries()) {
      const some = [...ordinals]
      ordinals.clear()
      await forEachInSlices(some, (ordinal) => placed.refresh(index, ordinal, latestMs))
    }
  }

  const read = <Result>(nowMs: number, work: () => Promise<Result>): Promise<Result> =>
    inTurn(async () => {
      latestMs = Math.max(latestMs, nowMs)
      levels.forget(latestMs)
      if (!isFilled) await fillTurn(fill)
      await applyChanges()
      await forEachInSlices(placed.expired(latestMs), ({ map, ordinal }) => placed.refresh(map, ordinal, latestMs))
      return work()
    })

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
    cells: (resolution, nowMs) => read(nowMs, () => levels.read(cellsKey(resolution), latestMs)),
    points: (nowMs) => read(nowMs, () => levels.read(pointsKey, latestMs)),
    overview: (nowMs) => read(nowMs, () => overview.read(table, latestMs)),
    device: table.placed,
    deviceOf: table.deviceOf,
    setMembers(members) {
      for (const { map, ordinal } of placed.setMembers(members)) changed[map]?.add(ordinal)
    },
    bytes: placed.bytes,
    close() {
      for (const stop of unwatch) stop()
      clearTimeout(applying)
    },
  }
}

const cellsKey = (resolution: number): LevelKey<CellLevel> => ({
  name: `cells of ${resolution}`,
  create: () => createCellLevel(resolution, bucketZoomOf(resolution)),
})

const pointsKey: LevelKey<PointLevel> = { name: 'points', create: () => createPointLevel(pointsFromZoom) }

/** Returns a function that runs work after the work before it has ended. */
function createTurns() {
  let working: Promise<unknown> = Promise.resolve()
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = working.then(work)
    working = result.catch(() => {})
    return result
  }
}
