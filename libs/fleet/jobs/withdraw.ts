import type { FleetContext } from '#fleet/context'
import { lockJobs } from '#fleet/jobs/changes/locking'
import { changeJobs } from '#fleet/jobs/changes/state-change'
import type { Connection } from '#postgres/pool'

/**
 * Ends jobs of a device in the transaction that changes the device: all open ones when it leaves its organization, those
 * it has not taken when it is disabled.
 */
export async function withdrawDeviceJobs(
  ctx: Pick<FleetContext, 'principal' | 'clock'>,
  connection: Connection,
  device: { id: string; organizationId: string },
  because: 'deviceGone' | 'deviceDisabled',
): Promise<void> {
  const jobs = await lockJobs(
    connection,
    `SELECT id FROM job
      WHERE organization_id = $1 AND device_id = $2 AND status IN ('queued', 'dispatched', 'inProgress')`,
    [device.organizationId, device.id],
  )
  await changeJobs(connection, jobs, () => ({ type: 'withdraw', because }), {
    by: ctx.principal.id,
    nowMs: ctx.clock(),
  })
}
