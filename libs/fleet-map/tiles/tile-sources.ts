import type { Clock } from '#core/clock'
import { cacheBytes } from '#fleet-map/memory-limits'
import { type CoverageShapes, createCoverageShapes } from '#fleet-map/tiles/coverage-layer'
import { createDeviceIndexes, type DeviceIndexes } from '#fleet-map/tiles/device-indexes'
import { createEncodedTiles, type EncodedTiles } from '#fleet-map/tiles/encoded-tiles'
import { createSharedMembers, type SharedMembers } from '#fleet-map/tiles/shared-members'

/** What the tiles of all callers share. */
export type TileSources = {
  indexes: DeviceIndexes
  coverageShapes: CoverageShapes
  members: SharedMembers
  encoded: EncodedTiles
}

export const createTileSources = (clock: Clock): TileSources => ({
  indexes: createDeviceIndexes(cacheBytes.tileIndexes),
  coverageShapes: createCoverageShapes(),
  members: createSharedMembers(clock),
  encoded: createEncodedTiles(cacheBytes.tiles),
})
