import { badRequest } from '#core/errors'
import { holds } from '#fleet/access/principal'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import {
  type ConditionalChange,
  changeDevice,
  type Device,
  type DeviceRevision,
  findDevice,
  revisionColumns,
  type TaggedDevice,
  tagDevice,
} from '#fleet/devices/device'
import type { DeviceStatus } from '#fleet/devices/status'
import { publishStatusChanges } from '#fleet/devices/status-changes'
import { requireTags } from '#fleet/devices/tags'
import { withdrawDeviceJobs } from '#fleet/jobs/withdraw'
import { queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

/** One device (`device:read`). Throws 404. */
export async function getDevice(ctx: FleetContext, { deviceId }: { deviceId: string }): Promise<TaggedDevice> {
  return tagDevice(await findDevice(ctx, ctx.pool, deviceId, 'device:read'))
}

type DeviceChange = {
  name?: string | undefined
  model?: string | undefined
  tags?: string[] | undefined
  /** An empty text or null removes them. */
  notes?: string | null | undefined
  status?: DeviceStatus | undefined
  /** Cannot be changed. The present value is accepted and ignored. */
  serial?: string | undefined
}

/**
 * Changes name, model, tags, notes or status (`device:update`). Disabling a device rejects the jobs it has not taken; any other
 * status enables it. A caller without `device:read` receives no notes. `precondition` receives the device before the change and
 * may throw 412. Throws 400 `serial_immutable`.
 */
export async function updateDevice(
  ctx: FleetContext,
  { deviceId, change, precondition }: ConditionalChange & { change: DeviceChange },
): Promise<TaggedDevice> {
  const found = await findDevice(ctx, ctx.pool, deviceId, 'device:update')
  refuseSerialChange(change, found.serial)
  return changeDevice(ctx, found, 'device:update', async (connection, before) => {
    precondition(before)
    requireTags(before.tags, change.tags)
    const after = await writeChange(connection, before, change)
    await publishChange(ctx, connection, before, after)
    if (after.status === 'disabled' && before.status !== 'disabled') {
      await withdrawDeviceJobs(ctx, connection, after, 'deviceDisabled')
    }
    return tagDevice(holds(ctx.principal, after.organizationId, 'device:read') ? after : { ...after, notes: null })
  })
}

function refuseSerialChange(change: DeviceChange, serial: string): void {
  const refuse = (pointer: string, code: string, detail: string) =>
    badRequest(detail, [{ pointer, code, detail }], code === 'serial_immutable' ? code : undefined)
  if (change.serial !== undefined && change.serial !== serial.normalize()) {
    throw refuse('/serial', 'serial_immutable', 'The serial cannot be changed.')
  }
  const { name, model, tags, notes, status } = change
  if ([name, model, tags, notes, status].every((value) => value === undefined)) {
    throw refuse(
      '',
      'nothing_to_change',
      'The request changes nothing. Send `name`, `model`, `tags`, `notes` or `status`.',
    )
  }
}

async function writeChange(
  connection: Connection,
  before: DeviceRevision,
  { name, model, tags, notes, status }: DeviceChange,
): Promise<DeviceRevision> {
  const [after = before] = await queryEntities<DeviceRevision>(
    connection,
    `UPDATE device d
        SET name = COALESCE($name, name), model = COALESCE($model, model), tags = COALESCE($tags, tags),
            notes = CASE WHEN $hasNotes THEN $notes ELSE notes END,
            status = COALESCE($status, status), fault = CASE WHEN $status::text IS NULL THEN fault END,
            revision = revision + 1, updated_at = now()
      WHERE organization_id = $organizationId AND id = $id
        AND (name, tags, status, model, notes)
          IS DISTINCT FROM (COALESCE($name, name), COALESCE($tags, tags), COALESCE($status, status), COALESCE($model, model),
            CASE WHEN $hasNotes THEN $notes ELSE notes END)
      RETURNING ${revisionColumns}`,
    {
      ...{ organizationId: before.organizationId, id: before.id, name, model, tags, status },
      ...{ hasNotes: notes !== undefined, notes: notes || null },
    },
  )
  return after
}

async function publishChange(ctx: FleetContext, connection: Connection, before: Device, after: Device): Promise<void> {
  if (after === before) return
  const edited = {
    ...(after.name === before.name ? {} : { name: after.name }),
    ...(after.model === before.model ? {} : { model: after.model }),
    ...(after.tags.join('\n') === before.tags.join('\n') ? {} : { tags: after.tags }),
    // Not all who read the audit log can read the notes.
    ...(after.notes === before.notes ? {} : { notes: after.notes === null ? 'removed' : 'changed' }),
  }
  if (Object.keys(edited).length > 0) await auditObject(ctx, connection, 'device.updated', after, edited)
  if (after.status === before.status) return
  const change = { deviceId: after.id, organizationId: after.organizationId, from: before.status, to: after.status }
  const cause = { actor: ctx.principal.id, requestId: ctx.requestId, reason: 'request' }
  await publishStatusChanges(connection, [change], cause)
}
