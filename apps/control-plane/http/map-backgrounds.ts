import type { Clock } from '#core/clock'
import { createSharedReads } from '#core/shared-reads'
import { type MapSettings, readMapSettings } from '#fleet/installation/map-settings'
import type { Logger } from '#http/request-log'
import type { Queryable } from '#postgres/pool'
import { effectiveSettings, type MapBackground, type MapEnvironment, openMapBackground } from './map-background.ts'

/** The background of the map as the environment and the stored settings want it. */
export type MapBackgrounds = {
  environment: MapEnvironment
  /** The background in effect, the same object until the settings change. It is read again after a second. */
  current(): Promise<MapBackground>
  /** Reads the settings now, because this process stored them. */
  renew(): Promise<void>
}

type Opened = { settings: MapSettings; background: MapBackground }

const lifeMs = 1_000

/**
 * Follows the stored settings, which another process may change. While the database is unavailable, the last background stays. A
 * stored PMTiles file that is not usable when it is opened is logged, and the map of the world takes its place until the settings
 * change or the process starts again.
 */
export function createMapBackgrounds(parts: {
  environment: MapEnvironment
  db: Queryable
  clock: Clock
  logger: Pick<Logger, 'warn'>
}): MapBackgrounds {
  const { environment, db, clock, logger } = parts
  const opened = createSharedReads<Opened>({
    clock,
    maxSize: 1,
    agesOf: (_, startedMs) => ({ freshUntilMs: startedMs + lifeMs, oldestUntilMs: Number.POSITIVE_INFINITY }),
  })

  const open = async (before: Opened | undefined): Promise<Opened> => {
    const settings = effectiveSettings(environment, await readMapSettings(db))
    if (before && JSON.stringify(before.settings) === JSON.stringify(settings)) return before
    const background = await openMapBackground(settings).catch((error: unknown) => {
      logger.warn({ err: error }, 'map_background_unusable')
      return openMapBackground({ ...settings, background: { kind: 'offline' } })
    })
    return { settings, background }
  }

  // Nobody waits for an earlier read under another key.
  let generation = 0
  const current = async () => (await opened.read(`map ${generation}`, (_, before) => open(before))).background
  return {
    environment,
    current,
    async renew() {
      generation += 1
      await current()
    },
  }
}
