import { sharedRuns } from '#core/shared-runs'
import { forEachPartInSlices } from '#core/slices'
import { type DatabaseMoment, databaseMoment } from '#fleet-map/database-moment'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { registryChanges, registryEntries } from '#fleet-map/live/registry'
import type { Pool } from '#postgres/pool'

/** Applies the registered devices of an organization to its map. */
export type RegistryFeed = {
  /** Adds, changes and removes devices as the registry does. Concurrent callers share the work. */
  refresh(): Promise<void>
  /** Devices that were registered after the first refresh and whose earlier telemetry has not been read yet. */
  newcomers(): string[]
  /** The earlier telemetry of these newcomers has been read. */
  admit(deviceIds: readonly string[]): void
}

const entriesAtOnce = 500

/** Owns up to when the registry has been applied, and the newcomers. */
export function createRegistryFeed(pool: Pool, map: OrganizationMap): RegistryFeed {
  /** What the last refresh has read; undefined before the first. */
  let asOf: DatabaseMoment | undefined
  const newcomers = new Set<string>()
  const refresh = async (): Promise<void> => {
    if (asOf === undefined) {
      const moment = await databaseMoment(pool)
      await forEachPartInSlices(await registryEntries(pool, map.organizationId), entriesAtOnce, map.applyRegistry)
      asOf = moment
      return
    }
    const { entries, departed, moment } = await registryChanges(pool, map.organizationId, asOf)
    map.remove(departed)
    for (const { deviceId } of entries) if (!map.device(deviceId)) newcomers.add(deviceId)
    map.applyRegistry(entries)
    if (asOf.nowMs < moment.nowMs) asOf = moment
  }
  return {
    refresh: sharedRuns(refresh),
    newcomers: () => [...newcomers],
    admit(deviceIds) {
      for (const deviceId of deviceIds) newcomers.delete(deviceId)
    },
  }
}
