import { badRequest } from '#core/errors'
import type { FleetContext } from '#fleet/context'
import {
  auditDevice,
  type ConditionalChange,
  type DeviceRow,
  deviceColumns,
  findDevice,
  type TaggedDevice,
  tagDevice,
} from '#fleet/devices/device'
import { type DeviceStatus, publishStatusChanges } from '#fleet/devices/status'
import { withdrawDeviceJobs } from '#fleet/jobs/withdraw'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

/** One device (`device:read`). Throws 404. */
export async function getDevice(ctx: FleetContext, { deviceId }: { deviceId: string }): Promise<TaggedDevice> {
  return tagDevice(await findDevice(ctx, ctx.pool, deviceId, 'device:read'))
}

type DeviceChange = {
  name?: string | undefined
  model?: string | undefined
  tags?: string[] | undefined
  status?: DeviceStatus | undefined
  /** Cannot be changed. The present value is accepted and ignored. */
  serial?: string | undefined
}

/**
 * Changes name, model, tags or status (`device:update`). Disabling a device rejects the jobs it has not taken; any other status
 * enables it. `precondition` receives the device before the change and may throw 412. Throws 400 `serial_immutable`.
 */
export async function updateDevice(
  ctx: FleetContext,
  { deviceId, change, precondition }: ConditionalChange & { change: DeviceChange },
): Promise<TaggedDevice> {
  const { organization_id: organizationId, serial } = await findDevice(ctx, ctx.pool, deviceId, 'device:update')
  refuseSerialChange(change, serial)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    const before = await findDevice(ctx, connection, deviceId, 'device:update', true)
    precondition(tagDevice(before))
    const after = await writeChange(connection, before, change)
    await publishChange(ctx, connection, before, after)
    if (after.status === 'disabled' && before.status !== 'disabled') {
      await withdrawDeviceJobs(ctx, connection, after, 'deviceDisabled')
    }
    return tagDevice(after)
  })
}

function refuseSerialChange(change: DeviceChange, serial: string): void {
  const refuse = (pointer: string, code: string, detail: string) =>
    badRequest(detail, [{ pointer, code, detail }], code === 'serial_immutable' ? code : undefined)
  if (change.serial !== undefined && change.serial !== serial) {
    throw refuse('/serial', 'serial_immutable', 'The serial cannot be changed.')
  }
  const { name, model, tags, status } = change
  if ([name, model, tags, status].every((value) => value === undefined)) {
    throw refuse('', 'nothing_to_change', 'The request changes nothing. Send `name`, `model`, `tags` or `status`.')
  }
}

async function writeChange(connection: Connection, before: DeviceRow, change: DeviceChange): Promise<DeviceRow> {
  const { rows } = await connection.query<DeviceRow>(
    `UPDATE device d
        SET name = COALESCE($3, name), model = COALESCE($6, model), tags = COALESCE($4, tags), status = COALESCE($5, status),
            fault = CASE WHEN $5::text IS NULL THEN fault END, revision = revision + 1, updated_at = now()
      WHERE organization_id = $1 AND id = $2
        AND (name, tags, status, model)
          IS DISTINCT FROM (COALESCE($3, name), COALESCE($4, tags), COALESCE($5, status), COALESCE($6, model))
      RETURNING ${deviceColumns}`,
    [
      before.organization_id,
      before.id,
      change.name ?? null,
      change.tags ?? null,
      change.status ?? null,
      change.model ?? null,
    ],
  )
  return rows[0] ?? before
}

async function publishChange(
  ctx: FleetContext,
  connection: Connection,
  before: DeviceRow,
  after: DeviceRow,
): Promise<void> {
  if (after === before) return
  const edited = {
    ...(after.name === before.name ? {} : { name: after.name }),
    ...(after.model === before.model ? {} : { model: after.model }),
    ...(after.tags.join('\n') === before.tags.join('\n') ? {} : { tags: after.tags }),
  }
  if (Object.keys(edited).length > 0) await auditDevice(ctx, connection, after, 'device.updated', edited)
  if (after.status === before.status) return
  const change = { deviceId: after.id, organizationId: after.organization_id, from: before.status, to: after.status }
  const cause = { actor: ctx.principal.id, requestId: ctx.requestId, reason: 'request' }
  await publishStatusChanges(connection, [change], cause)
}
