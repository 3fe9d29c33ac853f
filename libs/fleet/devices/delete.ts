import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type ConditionalChange, findDevice } from '#fleet/devices/device'
import { publishEvents } from '#fleet/events/publish'
import { withdrawDeviceJobs } from '#fleet/jobs/withdraw'
import { releaseQuota } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'

/**
 * Deletes a device and its history (`device:delete`), also without an active subscription. Deleting its ownership intervals
 * hides its telemetry from all readers at once. The erasure request removes the telemetry from storage later.
 */
export async function deleteDevice(ctx: FleetContext, { deviceId, precondition }: ConditionalChange): Promise<void> {
  const { organizationId } = await findDevice(ctx, ctx.pool, deviceId, 'device:delete')
  const formerOwners = await ctx.pool.query<{ organization_id: string }>(
    'SELECT DISTINCT organization_id FROM device_ownership WHERE device_id = $1',
    [deviceId],
  )
  const owners = new Set([organizationId, ...formerOwners.rows.map((row) => row.organization_id)])
  await tenantTransaction(ctx, [...owners], async (connection) => {
    const device = await findDevice(ctx, connection, deviceId, 'device:delete', true)
    precondition(device)
    await withdrawDeviceJobs(ctx, connection, device, 'deviceGone')
    await connection.query('DELETE FROM device_ownership WHERE device_id = $1', [deviceId])
    const key = [device.organizationId, deviceId]
    await connection.query(
      'INSERT INTO erasure_request (device_id, organization_id) VALUES ($2, $1) ON CONFLICT (device_id) DO NOTHING',
      key,
    )
    await connection.query('DELETE FROM device WHERE organization_id = $1 AND id = $2', key)
    const facts = { serial: device.serial, name: device.name }
    await auditObject(ctx, connection, 'device.deleted', device, facts)
    await publishEvents(connection, [
      { organizationId: device.organizationId, type: 'device.deleted', payload: { deviceId, ...facts } },
    ])
    await releaseQuota(connection, device.organizationId, 1)
  })
}
