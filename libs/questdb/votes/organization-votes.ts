import { isUuid } from '#core/ids'
import { type SqlValue, timestampParameter } from '#questdb/server/sql'

/** The votes of an organization from `fromMs` to before `toMs`. */
export type OrganizationVotes = { organizationId: string; fromMs: number; toMs: number }

/** A condition on votes in SQL, with the values of its parameters `$1`, `$2`, …. */
export type VoteCondition = { where: string; values: SqlValue[] }

/** The condition that a vote is one of these. Throws a TypeError for an id that is no UUID. */
export function isOfOrganization({ organizationId, fromMs, toMs }: OrganizationVotes): VoteCondition {
  if (!isUuid(organizationId)) throw new TypeError('An id is a UUID.')
  // A literal, because QuestDB filters a bound symbol on one thread only.
  const where = `org_id = '${organizationId}' AND ts >= $1 AND ts < $2`
  return { where, values: [timestampParameter(fromMs), timestampParameter(toMs)] }
}

/** A text that identifies a modem of a device in a map. */
export const modemKey = (deviceId: string, modem: string | null): string => `${deviceId} ${modem ?? ''}`
