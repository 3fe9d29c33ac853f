import { conflict, type ServiceError } from '#core/errors'
import { newId } from '#core/ids'
import { authorize } from '#fleet/access/principal'
import { recordAudit } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type DeviceRow, deviceColumns, type TaggedDevice, tagDevice } from '#fleet/devices/device'
import { publishEvents } from '#fleet/events/publish'
import { requireOrganization } from '#fleet/organizations/organizations'
import { requireActiveSubscription, requireQuota, reserveQuota } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

export type NewDevice = { serial: string; name: string; model: string; tags: string[] }

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
    const [row] = await insertDevices(connection, organizationId, [input], registrar)
    if (!row) throw serialTaken(input.serial)
    await reserveQuota(connection, entitlement, 1)
    return tagDevice(row)
  })
}

export const serialTaken = (serial: string): ServiceError =>
  conflict('serial_taken', `Another device of the organization already has the serial ${serial}.`)

/**
 * Inserts devices with their ownership, audit rows and events. Returns the rows in the order of the input, with undefined
 * for a serial that already exists. The caller reserves quota for the others.
 */
export async function insertDevices(
  connection: Connection,
  organizationId: string,
  devices: readonly NewDevice[],
  registrar: Registrar,
): Promise<(DeviceRow | undefined)[]> {
  const ids = devices.map(() => newId())
  const { rows } = await connection.query<DeviceRow>(
    `WITH input AS (
       SELECT * FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::jsonb[])
         AS i(id, serial, name, model, tags)
     ), created AS (
       INSERT INTO device AS d (id, organization_id, serial, name, model, tags, created_at, updated_at)
       SELECT id, $1, serial, name, model, ARRAY(SELECT jsonb_array_elements_text(tags)),
         uuid_extract_timestamp(id), uuid_extract_timestamp(id)
       FROM input
       ON CONFLICT (organization_id, serial) DO NOTHING
       RETURNING ${deviceColumns}
     ), owned AS (
       INSERT INTO device_ownership (device_id, organization_id, owned_from)
       SELECT id, organization_id, created_at FROM created
     )
     SELECT * FROM created`,
    [
      organizationId,
      ids,
      devices.map((device) => device.serial),
      devices.map((device) => device.name),
      devices.map((device) => device.model),
      devices.map((device) => JSON.stringify(device.tags)),
    ],
  )
  await publishCreated(connection, rows, registrar)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id))
}

async function publishCreated(connection: Connection, rows: readonly DeviceRow[], registrar: Registrar): Promise<void> {
  await recordAudit(
    connection,
    rows.map((row) => ({
      organizationId: row.organization_id,
      actor: registrar.actor,
      action: 'device.created',
      subjectType: 'device',
      subjectId: row.id,
      detail: { serial: row.serial, name: row.name, model: row.model },
      requestId: registrar.requestId,
    })),
  )
  await publishEvents(
    connection,
    rows.map((row) => ({
      organizationId: row.organization_id,
      type: 'device.created',
      payload: { deviceId: row.id, serial: row.serial, name: row.name, model: row.model },
    })),
  )
}
