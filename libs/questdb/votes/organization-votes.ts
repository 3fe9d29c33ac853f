import { isUuid } from '#core/ids'
import { inIntervals, type OwnedDevice, withRowsOutside } from '#questdb/server/owned-only'
import { type QuestdbSql, type SqlValue, timestampParameter } from '#questdb/server/sql'

/**
 * The votes of an organization from `fromMs` to before `toMs`. `ownedOnly`: without those of these devices from outside their
 * intervals, which only the votes themselves can tell, not the hourly counts.
 */
export type OrganizationVotes = {
  organizationId: string
  fromMs: number
  toMs: number
  ownedOnly?: readonly OwnedDevice[] | undefined
}

/** Those of the devices that may have voted with samples from outside their intervals. */
export const votersOutside = (
  questdb: QuestdbSql,
  devices: readonly OwnedDevice[],
  range: { fromMs: number; toMs: number },
): Promise<OwnedDevice[]> =>
  withRowsOutside(questdb, { table: 'coverage_vote_1m', time: 'voted_at', ...range }, devices)

/** A condition on votes in SQL, with the values of its parameters `$1`, `$2`, …. */
export type VoteCondition = { where: string; values: SqlValue[] }

/** The condition that a vote is one of these. Throws a TypeError for an id that is no UUID. */
export function isOfOrganization({ organizationId, fromMs, toMs, ownedOnly = [] }: OrganizationVotes): VoteCondition {
  if (!isUuid(organizationId)) throw new TypeError('An id is a UUID.')
  // A literal, because QuestDB filters a bound symbol on one thread only.
  const own = `org_id = '${organizationId}' AND ts >= $1 AND ts < $2`
  const where = [own, ...ownedOnly.map((device) => inIntervals(device, 'voted_at'))].join(' AND ')
  return { where, values: [timestampParameter(fromMs), timestampParameter(toMs)] }
}

/** A text that identifies a modem of a device in a map. */
export const modemKey = (deviceId: string, modem: string | null): string => `${deviceId} ${modem ?? ''}`
