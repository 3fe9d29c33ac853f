import { deviceIdsWith, latecomers } from '#fleet-map/registry'
import { type OrganizationWindow, rangeOf } from '#fleet-map/window'
import type { Pool } from '#postgres/pool'
import { earlyVoters, type VoteFilter } from '#questdb/coverage-source'
import { deviceLists } from '#questdb/device-list'
import type { QuestdbSql } from '#questdb/sql'

/** The votes that a caller requests and may read. */
export type VoteRequest = {
  organizations: readonly OrganizationWindow[]
  members?: ReadonlySet<string> | undefined
  tags?: readonly string[] | undefined
  rat?: string | undefined
  plmn?: string | undefined
}

/**
 * Filters for the organizations of a request, whose windows end at `nowMs` or in the past. They have no vote and no device in common. An
 * organization has several if many devices are chosen.
 */
export async function voteFilters(
  { pool, questdb }: { pool: Pool; questdb: QuestdbSql },
  { organizations, members, tags, rat, plmn }: VoteRequest,
  nowMs: number,
): Promise<VoteFilter[]> {
  const perOrganization = await Promise.all(
    organizations.map(async (organization): Promise<VoteFilter[]> => {
      const { organizationId, past } = organization
      const { fromMs } = rangeOf(organization, nowMs)
      const range = { fromMs, toMs: past?.toMs }
      const deviceIds = await deviceIdsWith(pool, organizationId, { tags, members })
      const late = await latecomers(pool, organizationId, fromMs)
      const notBefore = late.length > 0 ? await earlyVoters(questdb, organizationId, fromMs, late) : undefined
      return deviceLists(deviceIds).map((list) => ({ organizationId, ...range, deviceIds: list, rat, plmn, notBefore }))
    }),
  )
  return perOrganization.flat()
}
