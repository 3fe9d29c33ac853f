import { conflict } from '#core/errors'
import type { FleetContext } from '#fleet/context'
import { type LimitName, limitNamed, limitNames } from '#fleet/organizations/limit-table'
import type { Plan } from '#fleet/organizations/plans'
import { readEntitlement } from '#fleet/organizations/subscriptions'
import { lockName } from '#postgres/name-lock'
import type { Connection, Queryable } from '#postgres/pool'

/** `owner`: the device or group, for a limit within one. `added`: how many objects the transaction has inserted. */
type Addition = { organizationId: string; limit: LimitName; owner?: string; added?: number }

/**
 * Checks a limit in the transaction that has inserted objects, as late as possible: the lock, which serializes concurrent
 * additions to the same limit, is held until the transaction ends. Throws 409 `limit_reached` with `limit` and `used`.
 */
export async function requireWithinLimit(
  ctx: Pick<FleetContext, 'plans'>,
  connection: Connection,
  { organizationId, limit, owner, added = 1 }: Addition,
): Promise<void> {
  const { what, within, stored } = limitNamed(limit)
  const { plan } = await readEntitlement(ctx, connection, organizationId)
  const subject = [organizationId, limit, ...(owner === undefined ? [] : [owner])].join(':')
  await lockName(connection, subject)
  // A statement of its own, so that it sees what was committed while the lock was awaited.
  const { rows } = await connection.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${stored}`, [
    organizationId,
    ...(owner === undefined ? [] : [owner]),
  ])
  const most = plan.limits[limit]
  const count = rows[0]?.count ?? 0
  if (count <= most) return
  const holder = within === undefined ? 'An organization' : `A ${within}`
  throw conflict('limit_reached', `${holder} on this plan can have at most ${most} ${what}.`, {
    limit: most,
    used: count - added,
  })
}

type LimitUse = { limit: number; used: number }

/** What an organization stores of everything that has a limit, without the limits within one device, group or profile. */
export async function readLimitUses(
  db: Queryable,
  { organizationId, plan }: { organizationId: string; plan: Plan },
): Promise<Partial<Record<LimitName, LimitUse>>> {
  const names = limitNames.filter((name) => limitNamed(name).within === undefined)
  const counts = names.map((name) => `(SELECT count(*)::int FROM ${limitNamed(name).stored}) AS "${name}"`)
  const { rows } = await db.query<Partial<Record<LimitName, number>>>(`SELECT ${counts.join(', ')}`, [organizationId])
  return Object.fromEntries(names.map((name) => [name, { limit: plan.limits[name], used: rows[0]?.[name] ?? 0 }]))
}
