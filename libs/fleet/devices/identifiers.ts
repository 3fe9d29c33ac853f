import { conflict } from '#core/errors'
import type { FleetContext } from '#fleet/context'
import { auditDevice, findDevice } from '#fleet/devices/device'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import { isUniqueViolation } from '#postgres/errors'
import type { Connection, Queryable } from '#postgres/pool'

/** What a gateway can know a device by, beside its serial: IMEIs of 15 digits, MAC addresses of 12 lower-case hex digits. */
export type DeviceIdentifiers = { imei: string[]; mac: string[] }

/** Returns the identifiers of a device (`device:read`). Throws 404. */
export async function readIdentifiers(
  ctx: FleetContext,
  { deviceId }: { deviceId: string },
): Promise<DeviceIdentifiers> {
  const device = await findDevice(ctx, ctx.pool, deviceId, 'device:read')
  return identifiersOf(ctx.pool, device)
}

/**
 * Replaces the identifiers of a device (`device:update`). Throws 404, 402, and 409 `identifier_taken` if another device of the
 * organization has one.
 */
export async function replaceIdentifiers(
  ctx: FleetContext,
  { deviceId, identifiers }: { deviceId: string; identifiers: DeviceIdentifiers },
): Promise<DeviceIdentifiers> {
  const { organization_id: organizationId } = await findDevice(ctx, ctx.pool, deviceId, 'device:update')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    const device = await findDevice(ctx, connection, deviceId, 'device:update', true)
    await write(connection, device, identifiers)
    await auditDevice(ctx, connection, device, 'device.identifiers_changed', identifiers)
    return identifiersOf(connection, device)
  })
}

type Owner = { id: string; organization_id: string }

async function write(connection: Connection, { id, organization_id }: Owner, { imei, mac }: DeviceIdentifiers) {
  const kinds = [...imei.map(() => 'imei'), ...mac.map(() => 'mac')]
  const values = [...imei, ...mac]
  await connection.query(
    `DELETE FROM device_identifier
      WHERE organization_id = $1 AND device_id = $2
        AND (kind, value) NOT IN (SELECT * FROM unnest($3::text[], $4::text[]))`,
    [organization_id, id, kinds, values],
  )
  try {
    await connection.query(
      `INSERT INTO device_identifier (organization_id, device_id, kind, value)
       SELECT $1, $2, kind, value FROM unnest($3::text[], $4::text[]) AS t(kind, value)
       WHERE (kind, value) NOT IN (SELECT kind, value FROM device_identifier WHERE organization_id = $1 AND device_id = $2)`,
      [organization_id, id, kinds, values],
    )
  } catch (error) {
    if (!isUniqueViolation(error, 'device_identifier_taken')) throw error
    throw conflict('identifier_taken', 'Another device of the organization has one of these identifiers.')
  }
}

async function identifiersOf(db: Queryable, { id, organization_id }: Owner): Promise<DeviceIdentifiers> {
  const { rows } = await db.query<{ kind: string; value: string }>(
    'SELECT kind, value FROM device_identifier WHERE organization_id = $1 AND device_id = $2 ORDER BY kind, value',
    [organization_id, id],
  )
  const valuesOf = (kind: string) => rows.filter((row) => row.kind === kind).map(({ value }) => value)
  return { imei: valuesOf('imei'), mac: valuesOf('mac') }
}
