import type { FleetContext } from '#fleet/context'
import { changeJobs, lockJobs } from '#fleet/jobs/write'
import type { Connection } from '#postgres/pool'

/**
 * Ends the open jobs of a device that left its organization, or those that wait for a device that was disabled, in the
 * transaction that does so.
 */
export async function withdrawDeviceJobs(
  ctx: Pick<FleetContext, 'principal' | 'clock'>,
  connection: Connection,
  device: { id: string; organization_id: string },
  because: 'deviceGone' | 'deviceDisabled',
): Promise<void> {
  const jobs = await lockJobs(
    connection,
    `SELECT id FROM job
      WHERE organization_id = $1 AND device_id = $2 AND status IN ('queued', 'dispatched', 'inProgress')`,
    [device.organization_id, device.id],
  )
  await changeJobs(connection, jobs, () => ({ type: 'withdraw', because }), {
    by: ctx.principal.id,
    nowMs: ctx.clock(),
  })
}
