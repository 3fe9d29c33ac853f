import type { Clock } from '#core/clock'
import { createSharedReads, type SharedReads } from '#core/shared-reads'
import { cacheBytes } from '#fleet-map/memory-limits'
import type { GroupMembers } from '#fleet-map/selection/group-members'
import { createSharedAnswers, type SharedAnswers } from '#fleet-map/shared-answers'
import { type CoverageShapes, createCoverageShapes } from '#fleet-map/tiles/coverage-layer'
import { createDeviceIndexes, type DeviceIndexes } from '#fleet-map/tiles/device-indexes'

/** What the tiles of all callers share. */
export type TileSources = {
  indexes: DeviceIndexes
  coverageShapes: CoverageShapes
  /** The members of groups, at most a few seconds old. */
  members: SharedReads<GroupMembers>
  /** Encoded tiles by their content. Ages in them are at most ten seconds old. */
  encoded: SharedAnswers
}

const encodedLifeMs = 10_000
const maxGroups = 50
const shortestLifeMs = 2_000
// Looking up the members uses at most a twentieth of the time.
const lifePerCost = 20

export const createTileSources = (clock: Clock): TileSources => ({
  indexes: createDeviceIndexes(cacheBytes.tileIndexes),
  coverageShapes: createCoverageShapes(),
  members: createSharedReads({
    clock,
    maxSize: maxGroups,
    agesOf: (_members, startedMs, endedMs) => ({
      freshUntilMs: endedMs + Math.max(shortestLifeMs, (endedMs - startedMs) * lifePerCost),
    }),
  }),
  encoded: createSharedAnswers(clock, { maxBytes: cacheBytes.tiles, lifeMs: encodedLifeMs }),
})
