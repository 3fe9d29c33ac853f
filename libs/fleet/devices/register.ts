import { conflict, type ServiceError } from '#core/errors'
import { newId } from '#core/ids'
import { authorize } from '#fleet/access/principal'
import { recordAudit } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type DeviceRevision, revisionColumns, type TaggedDevice, tagDevice } from '#fleet/devices/device'
import { publishEvents } from '#fleet/events/publish'
import { requireOrganization } from '#fleet/organizations/organizations'
import { requireActiveSubscription, requireQuota, reserveQuota } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

/** An empty text is no notes. */
export type NewDevice = {
  serial: string
  name: string
  model: string
  tags: string[]
  notes?: string | null | undefined
}

/** The actor of the audit rows: the id of a principal, or `enrollment-key:<id>`. */
type Registrar = { actor: string; requestId: string }

/**
 * Creates a device (`device:create`). Throws 404 for an unknown organization, 402 `subscription_inactive`, 403
 * `device_quota_exceeded`, 409 `serial_taken`.
 */
export async function createDevice(
  ctx: FleetContext,
  { organizationId, ...input }: { organizationId: string } & NewDevice,
): Promise<TaggedDevice> {
  authorize(ctx.principal, organizationId, 'device:create')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const entitlement = await requireActiveSubscription(ctx, connection, organizationId)
    await requireQuota(connection, entitlement)
    const registrar = { actor: ctx.principal.id, requestId: ctx.requestId }
    const [device] = await insertDevices(connection, organizationId, [input], registrar)
    if (!device) throw serialTaken(input.serial)
    await reserveQuota(connection, entitlement, 1)
    return tagDevice(device)
  })
}

export const serialTaken = (serial: string): ServiceError =>
  conflict('serial_taken', `Another device of the organization already has the serial ${serial}.`)

/**
 * Inserts devices with their ownership, audit rows and events. Ownership begins and ends by the clock of the database: a device
 * that another process transfers a moment later has no interval that ends before it begins. Returns the rows in the order of the input, with undefined
 * for a serial that already exists, also in another case or encoding. The caller reserves quota for the others.
 */
export async function insertDevices(
  connection: Connection,
  organizationId: string,
  devices: readonly NewDevice[],
  registrar: Registrar,
): Promise<(DeviceRevision | undefined)[]> {
  const ids = devices.map(() => newId())
  const created = await queryEntities<DeviceRevision>(
    connection,
    `WITH input AS (
       SELECT * FROM unnest($ids::uuid[], $serials::text[], $names::text[], $models::text[], $tags::jsonb[], $notes::text[])
         AS i(id, serial, name, model, tags, notes)
     ), created AS (
       INSERT INTO device AS d (id, organization_id, serial, name, model, tags, notes, created_at, updated_at)
       SELECT id, $organizationId, serial, name, model, ARRAY(SELECT jsonb_array_elements_text(tags)), notes,
         uuid_extract_timestamp(id), uuid_extract_timestamp(id)
       FROM input
       ON CONFLICT DO NOTHING
       RETURNING ${revisionColumns}
     ), owned AS (
       INSERT INTO device_ownership (device_id, organization_id, owned_from)
       SELECT id, "organizationId", now() FROM created
     )
     SELECT * FROM created`,
    {
      organizationId,
      ids,
      serials: devices.map(({ serial }) => serial),
      names: devices.map(({ name }) => name),
      models: devices.map(({ model }) => model),
      tags: devices.map(({ tags }) => JSON.stringify(tags)),
      notes: devices.map(({ notes }) => notes || null),
    },
  )
  await publishCreated(connection, created, registrar)
  const byId = new Map(created.map((device) => [device.id, device]))
  return ids.map((id) => byId.get(id))
}

async function publishCreated(
  connection: Connection,
  devices: readonly DeviceRevision[],
  registrar: Registrar,
): Promise<void> {
  await recordAudit(
    connection,
    devices.map(({ id, organizationId, serial, name, model }) => ({
      organizationId,
      actor: registrar.actor,
      action: 'device.created',

      subjectId: id,
      detail: { serial, name, model },
      requestId: registrar.requestId,
    })),
  )
  await publishEvents(
    connection,
    devices.map(({ id, organizationId, serial, name, model }) => ({
      organizationId,
      type: 'device.created',
      payload: { deviceId: id, serial, name, model },
    })),
  )
}
