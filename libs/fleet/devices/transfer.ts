import { conflict, insufficientScope } from '#core/errors'
import { holds } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import {
  type ConditionalChange,
  type Device,
  type DeviceRevision,
  findDevice,
  revisionColumns,
  type TaggedDevice,
  tagDevice,
} from '#fleet/devices/device'
import { serialTaken } from '#fleet/devices/register'
import { publishEvents } from '#fleet/events/publish'
import { withdrawDeviceJobs } from '#fleet/jobs/withdraw'
import { releaseQuota, requireActiveSubscription, requireQuota, reserveQuota } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { queryEntity } from '#postgres/entities'
import { isUniqueViolation } from '#postgres/errors'
import type { Connection } from '#postgres/pool'

type Transfer = ConditionalChange & { toOrgId: string; reason?: string | undefined }

/**
 * Transfers a device to another organization (`device:transfer` in both; 403 for any other destination, whether it exists or
 * not). The device loses its groups, profile, variables, open jobs, tokens, identifiers, notes and last location. Its
 * history remains with the old owner, whose ownership interval ends.
 */
export async function transferDevice(ctx: FleetContext, transfer: Transfer): Promise<TaggedDevice> {
  const { deviceId, toOrgId, precondition } = transfer
  const { organizationId: fromOrgId } = await findDevice(ctx, ctx.pool, deviceId, 'device:transfer')
  await requireDestination(ctx, toOrgId)
  return tenantTransaction(ctx, [fromOrgId, toOrgId], async (connection) => {
    await requireActiveSubscription(ctx, connection, fromOrgId)
    const destination = await requireActiveSubscription(ctx, connection, toOrgId)
    const before = await findDevice(ctx, connection, deviceId, 'device:transfer', true)
    const isUnchanged = before.organizationId === toOrgId
    if (!isUnchanged) await requireQuota(connection, destination)
    precondition(before)
    if (isUnchanged) throw conflict('same_organization', 'The device already belongs to this organization.')
    await withdrawDeviceJobs(ctx, connection, before, 'deviceGone')
    await leaveOrganization(connection, before)
    const after = await moveRow(connection, before, toOrgId)
    await publishTransfer(ctx, connection, before, transfer)
    await lockCounters(connection, [before.organizationId, toOrgId])
    await reserveQuota(connection, destination, 1)
    await releaseQuota(connection, before.organizationId, 1)
    return tagDevice(after)
  })
}

/** Throws 403 for a destination without the scope, and, for platform principals, for one that does not exist. */
async function requireDestination(ctx: FleetContext, toOrgId: string): Promise<void> {
  if (!holds(ctx.principal, toOrgId, 'device:transfer')) throw insufficientScope('device:transfer')
  const { rowCount } = await ctx.pool.query('SELECT 1 FROM organization WHERE id = $1', [toOrgId])
  if (!rowCount) throw insufficientScope('device:transfer')
}

/** Locks the usage counters in order of id, so that two transfers in opposite directions do not deadlock. */
const lockCounters = (connection: Connection, organizationIds: readonly string[]) =>
  connection.query(
    'SELECT 1 FROM organization_usage WHERE organization_id = ANY($1::uuid[]) ORDER BY organization_id FOR UPDATE',
    [organizationIds],
  )

async function leaveOrganization(connection: Connection, device: Device): Promise<void> {
  const key = [device.organizationId, device.id]
  await connection.query('DELETE FROM device_group_member WHERE organization_id = $1 AND device_id = $2', key)
  await connection.query('DELETE FROM device_token WHERE organization_id = $1 AND device_id = $2', key)
  await connection.query('DELETE FROM device_identifier WHERE organization_id = $1 AND device_id = $2', key)
  await connection.query('DELETE FROM device_radio_health WHERE organization_id = $1 AND device_id = $2', key)
  await connection.query('DELETE FROM config_variable_set WHERE organization_id = $1 AND device_id = $2', key)
  await connection.query('DELETE FROM device_reported_config WHERE organization_id = $1 AND device_id = $2', key)
  await connection.query('DELETE FROM device_applied_variables WHERE organization_id = $1 AND device_id = $2', key)
  await connection.query('DELETE FROM device_sim_advice WHERE organization_id = $1 AND device_id = $2', key)
  await connection.query(
    'UPDATE device_ownership SET owned_to = now() WHERE organization_id = $1 AND device_id = $2 AND owned_to IS NULL',
    key,
  )
}

function moveRow(connection: Connection, before: Device, toOrgId: string): Promise<DeviceRevision> {
  return queryEntity<DeviceRevision>(
    connection,
    `WITH owned AS (
       INSERT INTO device_ownership (device_id, organization_id, owned_from) VALUES ($id, $toOrgId, now())
     )
     UPDATE device d
        SET organization_id = $toOrgId, status = CASE WHEN status = 'disabled' THEN status ELSE 'provisioning' END,
            last_seen_at = NULL, reporting_interval_s = NULL, fault = NULL, last_lat = NULL, last_lon = NULL,
            last_fix_at = now(), shares_serial = false, config_profile_id = NULL, config_profile_version = NULL, announced_dwell = NULL,
            notes = NULL, revision = revision + 1, updated_at = now()
      WHERE organization_id = $organizationId AND id = $id RETURNING ${revisionColumns}`,
    { organizationId: before.organizationId, id: before.id, toOrgId },
  ).catch((error: unknown) => {
    const isTaken = ['device_serial_taken', 'device_folded_serial_taken'].some((name) => isUniqueViolation(error, name))
    throw isTaken ? serialTaken(before.serial) : error
  })
}

/** Writes audit rows and events for both organizations. Each refers to the other organization only by its id. */
async function publishTransfer(
  ctx: FleetContext,
  connection: Connection,
  before: Device,
  { toOrgId, reason }: Transfer,
): Promise<void> {
  const detail = { fromOrganizationId: before.organizationId, toOrganizationId: toOrgId, reason: reason ?? null }
  const organizationIds = [before.organizationId, toOrgId]
  const subject = { action: 'device.transferred', subjectId: before.id, detail }
  await auditCaller(ctx, connection, ...organizationIds.map((organizationId) => ({ organizationId, ...subject })))
  await publishEvents(
    connection,
    organizationIds.map((organizationId) => ({
      organizationId,
      type: 'device.transferred',
      payload: { deviceId: before.id, serial: before.serial, ...detail },
    })),
  )
}
