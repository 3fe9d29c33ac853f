import { isUuid } from '#core/ids'
import type { FleetContext } from '#fleet/context'
import { type Connection, type Pool, retryOnDeadlock, type TransactionOptions, transaction } from '#postgres/pool'

/**
 * Runs `work` in a transaction in which row level security limits every statement to these organizations. Statements name
 * their organization as well; this catches one that does not. Retries `work` after a deadlock. Throws TypeError without
 * valid organization ids.
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
  return retryOnDeadlock(() => transaction(ctx.pool, work, { prelude }))
}

/**
 * Runs `work` in a transaction that may reach every organization, for the worker and the device edge. Retries `work` after
 * a deadlock: jobs are locked in order, but the counters of several batches, and the devices that different jobs release,
 * can still be locked in different orders.
 */
export const systemTransaction = <Result>(
  system: { pool: Pool },
  work: (connection: Connection) => Promise<Result>,
  options: TransactionOptions = {},
): Promise<Result> => retryOnDeadlock(() => transaction(system.pool, work, options))
