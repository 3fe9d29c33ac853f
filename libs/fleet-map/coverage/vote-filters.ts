import { deviceIdsWith, latecomers } from '#fleet-map/registry'
import type { OrganizationWindow } from '#fleet-map/window'
import type { Pool } from '#postgres/pool'
import { earlyVoters, type VoteFilter } from '#questdb/coverage-source'
import type { QuestdbSql } from '#questdb/sql'

/** The votes that a caller requests and may read. */
export type VoteRequest = {
  organizations: readonly OrganizationWindow[]
  members?: ReadonlySet<string> | undefined
  tags?: readonly string[] | undefined
  rat?: string | undefined
  plmn?: string | undefined
}

/** One filter for each organization of a request, whose windows end at `nowMs`. */
export function voteFilters(
  { pool, questdb }: { pool: Pool; questdb: QuestdbSql },
  { organizations, members, tags, rat, plmn }: VoteRequest,
  nowMs: number,
): Promise<VoteFilter[]> {
  return Promise.all(
    organizations.map(async ({ organizationId, windowMs }): Promise<VoteFilter> => {
      const fromMs = nowMs - windowMs
      const deviceIds = await deviceIdsWith(pool, organizationId, { tags, members })
      const late = await latecomers(pool, organizationId, fromMs)
      const notBefore = late.length > 0 ? await earlyVoters(questdb, organizationId, fromMs, late) : undefined
      return { organizationId, fromMs, deviceIds, rat, plmn, notBefore }
    }),
  )
}
