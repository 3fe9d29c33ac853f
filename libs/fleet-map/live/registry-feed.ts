import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { databaseNowMs, registryChanges, registryEntries } from '#fleet-map/registry'
import type { Pool } from '#postgres/pool'

/** Applies the registered devices of an organization to its map. */
export type RegistryFeed = {
  /** Adds, changes and removes devices as the registry does. */
  refresh(): Promise<void>
  /** Devices that were registered after the first refresh and whose earlier telemetry has not been read yet. */
  newcomers(): string[]
  /** The earlier telemetry of these newcomers has been read. */
  admit(deviceIds: readonly string[]): void
}

/** Owns up to when the registry has been applied, and the newcomers. */
export function createRegistryFeed(pool: Pool, map: OrganizationMap): RegistryFeed {
  /** Start of the last refresh, by the database's clock; 0 before the first. */
  let asOfMs = 0
  const newcomers = new Set<string>()
  return {
    async refresh() {
      const nowMs = await databaseNowMs(pool)
      if (asOfMs === 0) {
        map.applyRegistry(await registryEntries(pool, map.organizationId))
      } else {
        const changes = await registryChanges(pool, map.organizationId, asOfMs)
        map.remove(changes.departed)
        for (const { deviceId } of changes.entries) if (!map.device(deviceId)) newcomers.add(deviceId)
        map.applyRegistry(changes.entries)
      }
      asOfMs = Math.max(asOfMs, nowMs)
    },
    newcomers: () => [...newcomers],
    admit(deviceIds) {
      for (const deviceId of deviceIds) newcomers.delete(deviceId)
    },
  }
}
