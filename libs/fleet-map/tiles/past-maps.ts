import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { createSharedReads } from '#core/shared-reads'
import { forEachPartInSlices } from '#core/slices'
import { readNewest } from '#fleet-map/live/newest-rows'
import { createOrganizationMap, type OrganizationMap } from '#fleet-map/live/organization-map'
import { registryEntries } from '#fleet-map/live/registry'
import type { Revisions } from '#fleet-map/revisions'
import type { WindowRange } from '#fleet-map/window'
import type { FairPool } from '#postgres/fair-pool'
import type { Reader } from '#questdb/copies/readers'

/** Maps of organizations as they were in ranges of time in the past. */
export type PastMaps = {
  /**
   * The present devices of an organization, with the last position and signal of each in the range. Do not change it. Throws 400
   * `too_many_devices`.
   */
  read(organizationId: string, range: WindowRange, reader: Reader): Promise<OrganizationMap>
}

/** Telemetry of the past changes only by late reports. */
const lifeMs = 60_000
const forgottenAfterMs = 5 * 60_000
/** Of all kept maps, and of one. */
const maxDevices = 200_000
const entriesAtOnce = 500

type Sources = { pools: FairPool; clock: Clock; revisions: Revisions }

/** Keeps the maps that were read lately, for all tiles and callers of the same range. */
export function createPastMaps(sources: Sources): PastMaps {
  const maps = createSharedReads<OrganizationMap>({
    clock: sources.clock,
    agesOf: (_map, _startedMs, endedMs) => ({ freshUntilMs: endedMs + lifeMs }),
    maxSize: maxDevices,
    sizeOf: (map) => Math.max(1, map.size()),
    forgottenAfterMs,
  })
  return {
    read: (organizationId, range, reader) =>
      maps.read(
        JSON.stringify([organizationId, range.fromMs, range.toMs]),
        (abandoned) => readPastMap(sources, organizationId, range, reader.detached(abandoned)),
        reader.signal,
      ),
  }
}

async function readPastMap(
  { pools, revisions }: Sources,
  organizationId: string,
  range: WindowRange,
  reader: Reader,
): Promise<OrganizationMap> {
  const entries = await registryEntries(pools.of(`org:${organizationId}`), organizationId)
  if (entries.length > maxDevices)
    throw new ServiceError(400, 'too_many_devices', `A range in the past shows at most ${maxDevices} devices.`)
  const map = createOrganizationMap(organizationId, revisions)
  // Whether a device reported again later says nothing about then.
  const then = entries.map((entry) => (entry.status === 'offline' ? { ...entry, status: 'online' } : entry))
  await forEachPartInSlices(then, entriesAtOnce, map.applyRegistry)
  await reader.heavy(() => readNewest(reader.questdb, map, range))
  return map
}
