import { z } from 'zod'
import { conflict } from '#core/errors'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { changeDevice, type Device, findDevice } from '#fleet/devices/device'
import { isUniqueViolation } from '#postgres/errors'
import type { Connection, Queryable } from '#postgres/pool'

/** What a gateway can know a device by, beside its serial. */
export const deviceIdentifiersSchema = z
  .object({
    imei: z.array(z.string()).describe('15 digits each.'),
    mac: z.array(z.string()).describe('12 lower-case hex digits each.'),
  })
  .meta({ id: 'DeviceIdentifiers' })

type DeviceIdentifiers = z.infer<typeof deviceIdentifiersSchema>

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
  const found = await findDevice(ctx, ctx.pool, deviceId, 'device:update')
  return changeDevice(ctx, found, 'device:update', async (connection, device) => {
    await write(connection, device, identifiers)
    await auditObject(ctx, connection, 'device.identifiers_changed', device, identifiers)
    return identifiersOf(connection, device)
  })
}

async function write(connection: Connection, { id, organizationId }: Device, { imei, mac }: DeviceIdentifiers) {
  const kinds = [...imei.map(() => 'imei'), ...mac.map(() => 'mac')]
  const values = [...imei, ...mac]
  await connection.query(
    `DELETE FROM device_identifier
      WHERE organization_id = $1 AND device_id = $2
        AND (kind, value) NOT IN (SELECT * FROM unnest($3::text[], $4::text[]))`,
    [organizationId, id, kinds, values],
  )
  try {
    await connection.query(
      `INSERT INTO device_identifier (organization_id, device_id, kind, value)
       SELECT $1, $2, kind, value FROM unnest($3::text[], $4::text[]) AS t(kind, value)
       WHERE (kind, value) NOT IN (SELECT kind, value FROM device_identifier WHERE organization_id = $1 AND device_id = $2)`,
      [organizationId, id, kinds, values],
    )
  } catch (error) {
    if (!isUniqueViolation(error, 'device_identifier_taken')) throw error
    throw conflict('identifier_taken', 'Another device of the organization has one of these identifiers.')
  }
}

async function identifiersOf(db: Queryable, { id, organizationId }: Device): Promise<DeviceIdentifiers> {
  const { rows } = await db.query<{ kind: string; value: string }>(
    'SELECT kind, value FROM device_identifier WHERE organization_id = $1 AND device_id = $2 ORDER BY kind, value',
    [organizationId, id],
  )
  const valuesOf = (kind: string) => rows.filter((row) => row.kind === kind).map(({ value }) => value)
  return { imei: valuesOf('imei'), mac: valuesOf('mac') }
}
