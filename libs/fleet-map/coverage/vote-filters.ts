import { latecomers } from '#fleet/devices/ownership'
import type { EffectiveGroup } from '#fleet/groups/effective-members'
import { deviceIdsWith } from '#fleet/groups/filtered-devices'
import { type OrganizationWindow, rangeOf } from '#fleet-map/window'
import type { Pool } from '#postgres/pool'
import { deviceLists } from '#questdb/server/device-list'
import type { QuestdbSql } from '#questdb/server/sql'
import type { VoteFilter } from '#questdb/votes/coverage-source'
import { votersOutside } from '#questdb/votes/organization-votes'

/** The votes that a caller requests and may read. */
export type VoteRequest = {
  organizations: readonly OrganizationWindow[]
  group?: EffectiveGroup | undefined
  tags?: readonly string[] | undefined
  rat?: string | undefined
  plmn?: string | undefined
}

const hourMs = 3_600_000
/** Clocks of devices may be ahead. */
const dayMs = 24 * hourMs

/** Identifies a request while its group changes. */
export const keyOf = ({ group, ...request }: VoteRequest): string => JSON.stringify({ groupId: group?.id, ...request })

/**
 * Filters for the organizations of a request, whose windows end at `nowMs` or in the past. They have no vote and no device in common. An
 * organization has several if many devices are chosen.
 */
export async function voteFilters(
  { pool, questdb }: { pool: Pool; questdb: QuestdbSql },
  { organizations, group, tags, rat, plmn }: VoteRequest,
  nowMs: number,
): Promise<VoteFilter[]> {
  const perOrganization = await Promise.all(
    organizations.map(async (organization): Promise<VoteFilter[]> => {
      const { organizationId, past } = organization
      const { fromMs } = rangeOf(organization, nowMs)
      const range = { fromMs, toMs: past?.toMs }
      const deviceIds = await deviceIdsWith(pool, organizationId, { tags, group })
      const late = await latecomers(pool, [organizationId], fromMs)
      const ownedOnly = await votersOutside(questdb, late, { fromMs, toMs: past?.toMs ?? nowMs + dayMs })
      const hasHours = isCountedByHours(range, nowMs)
      const filter = { organizationId, ...range, hasHours, rat, plmn, ownedOnly }
      return deviceLists(deviceIds).map((list) => ({ ...filter, deviceIds: list }))
    }),
  )
  return perOrganization.flat()
}

/** Whether a window begins and ends in different hours, which the hourly views have by now. */
const isCountedByHours = ({ fromMs, toMs }: { fromMs: number; toMs: number | undefined }, nowMs: number): boolean =>
  (toMs ?? nowMs) - fromMs >= 2 * hourMs && (toMs === undefined || nowMs - toMs >= hourMs)
