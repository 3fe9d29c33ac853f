import type { Clock } from '#core/clock'
import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { createPacer } from '#fleet-map/live/pacer'
import { ongoingDwells } from '#questdb/fleet/dwells'
import type { QuestdbSql } from '#questdb/server/sql'

/** Applies the ongoing dwells to the map of an organization. */
export type DwellFeed = {
  refresh(questdb: QuestdbSql): Promise<void>
  /** Refreshes if the last refresh is long enough ago for what it took. */
  refreshIfDue(questdb: QuestdbSql): Promise<void>
  /** Duration of the last refresh; 0 before the first. */
  lookMs(): number
}

const retentionMs = 90 * 86_400_000
const lookShare = 0.05

/** Owns when the dwells are read again. */
export function createDwellFeed(map: OrganizationMap, clock: Clock): DwellFeed {
  const pacer = createPacer(lookShare)
  const refresh = async (questdb: QuestdbSql): Promise<void> => {
    const nowMs = clock()
    map.replaceDwells(await ongoingDwells(questdb, map.organizationId, nowMs - retentionMs))
    pacer.ran(nowMs, clock() - nowMs)
  }
  return {
    refresh,
    async refreshIfDue(questdb) {
      if (pacer.isDue(clock())) await refresh(questdb)
    },
    lookMs: () => pacer.tookMs() ?? 0,
  }
}
