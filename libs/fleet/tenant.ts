import { isUuid } from '#core/ids'
import type { FleetContext } from '#fleet/context'
import { type Connection, startingOver, transaction } from '#postgres/pool'

/**
 * One transaction under the second lock: the database itself shows and accepts only rows of these organizations, whatever
 * the statements inside say. Statements still name the organization; this is what catches the one that forgot. `work`
 * starts over when it was the victim of a deadlock.
 */
export function tenantTransaction<Result>(
  ctx: Pick<FleetContext, 'pool'>,
  organizationIds: readonly string[],
  work: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  if (organizationIds.length === 0 || !organizationIds.every(isUuid)) {
    throw new TypeError('A tenant transaction needs organization ids.')
  }
  const prelude = `SET LOCAL ROLE routerfleet_tenant; SET LOCAL app.organizations = '${organizationIds.join(',')}'`
  return startingOver(() => transaction(ctx.pool, work, { prelude }))
}
