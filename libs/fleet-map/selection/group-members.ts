import { type EffectiveGroup, explicitMemberIds } from '#fleet/groups/effective-members'
import type { RegistryEntry } from '#fleet-map/live/device-state'
import type { Queryable } from '#postgres/pool'

/** The effective members of a group. Those by smart tag are found in the map, which may have a million of them. */
export type GroupMembers = { group: EffectiveGroup; explicitIds: ReadonlySet<string> }

export const readGroupMembers = async (db: Queryable, group: EffectiveGroup): Promise<GroupMembers> => ({
  group,
  explicitIds: await explicitMemberIds(db, group),
})

export const isMember = ({ group, explicitIds }: GroupMembers, entry: RegistryEntry): boolean =>
  entry.organizationId === group.organizationId &&
  (explicitIds.has(entry.deviceId) || group.smartTags.some((tag) => entry.tags.includes(tag)))
