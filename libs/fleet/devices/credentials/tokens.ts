import { z } from 'zod'
import { notFound } from '#core/errors'
import { instantOut } from '#core/schemas'
import { issueToken } from '#core/tokens'
import { authorizeFound } from '#fleet/access/authorize-object'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { changeDevice, findDevice, findVisibleDevice } from '#fleet/devices/device'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { type Page, type PageRequest, queryPageByTime } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

// What routers and gateways authenticate with. Begin here; then `enroll.ts`, and `token-grants.ts` for what ingest looks up.

type IssuedDeviceToken = { token: string; expiresAt: string | null }

/**
 * Issues a token for a device (`device:update`); it is returned only here. Earlier tokens remain valid for 24 h, so that the
 * router can be updated while it still uses the old one. With `revoke`, they become invalid at once. Throws 409
 * `limit_reached`.
 */
export async function issueDeviceToken(
  ctx: FleetContext,
  { deviceId, revoke }: { deviceId: string; revoke: boolean },
): Promise<IssuedDeviceToken> {
  const found = await findDevice(ctx, ctx.pool, deviceId, 'device:update')
  return changeDevice(ctx, found, 'device:update', async (connection, device) => {
    const { id, organizationId } = device
    await retireTokens(connection, id, revoke)
    const [token = ''] = await insertDeviceTokens(connection, organizationId, [id])
    await auditObject(ctx, connection, revoke ? 'device.token_replaced' : 'device.token_issued', device)
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'deviceTokens', owner: id })
    return { token, expiresAt: null }
  })
}

/** A token without its secret. */
export const deviceTokenSchema = z
  .object({
    id: z.string().describe('The part of the token between `fld_` and the next `_`.'),
    createdAt: instantOut(),
    expiresAt: instantOut().nullable().describe('Null if the token does not expire.'),
  })
  .meta({ id: 'DeviceToken' })

type DeviceToken = z.infer<typeof deviceTokenSchema>

/** The device's tokens that are valid, newest first (`device:read`). Throws 404. */
export async function listDeviceTokens(
  ctx: FleetContext,
  { deviceId, page }: { deviceId: string; page: PageRequest },
): Promise<Page<DeviceToken>> {
  const { organizationId } = await findDevice(ctx, ctx.pool, deviceId, 'device:read')
  return tenantTransaction(ctx, [organizationId], (connection) =>
    queryPageByTime(
      connection,
      `SELECT id, created_at AS "createdAt", expires_at AS "expiresAt", created_at::text AS "createdText" FROM device_token
        WHERE organization_id = $organizationId AND device_id = $deviceId AND (expires_at IS NULL OR expires_at > now())
          AND ($afterTime::timestamptz IS NULL OR (created_at, id) < ($afterTime, $afterId))
        ORDER BY created_at DESC, id DESC LIMIT $limit`,
      { organizationId, deviceId },
      page,
    ),
  )
}

/** Revokes one token of a device at once (`device:update`). Throws 404 for a token that the device does not have. */
export async function revokeDeviceToken(
  ctx: FleetContext,
  { deviceId, tokenId }: { deviceId: string; tokenId: string },
): Promise<void> {
  const { organizationId } = await findVisibleDevice(ctx, ctx.pool, deviceId)
  const token = [organizationId, deviceId, tokenId]
  await authorizeFound(ctx, organizationId, 'device:update', {
    kind: 'device token',
    id: tokenId,
    find: () =>
      ctx.pool.query('SELECT FROM device_token WHERE organization_id = $1 AND device_id = $2 AND id = $3', token),
  })
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const device = await findDevice(ctx, connection, deviceId, 'device:update', true)
    const { rowCount } = await connection.query(
      'DELETE FROM device_token WHERE organization_id = $1 AND device_id = $2 AND id = $3',
      token,
    )
    if (!rowCount) throw notFound('device token', tokenId)
    await auditObject(ctx, connection, 'device.token_revoked', device, { tokenId })
  })
}

async function retireTokens(connection: Connection, deviceId: string, revoke: boolean): Promise<void> {
  if (revoke) await connection.query('DELETE FROM device_token WHERE device_id = $1', [deviceId])
  else {
    await connection.query(
      `UPDATE device_token SET expires_at = now() + interval '24 hours'
        WHERE device_id = $1 AND (expires_at IS NULL OR expires_at > now() + interval '24 hours')`,
      [deviceId],
    )
  }
}

/** The nonce with which the holder of a token may repeat its enrollment. `since`: the first enrollment with it. */
export type EnrollmentNonce = { hash: Buffer; since: Date | null }

/**
 * Issues a token for each device and returns them in order. Stores only their hashes. `nonce`: of the enrollment that issues
 * them; without `since`, it is the first one with this nonce.
 */
export async function insertDeviceTokens(
  connection: Connection,
  organizationId: string,
  deviceIds: readonly string[],
  nonce?: EnrollmentNonce,
): Promise<string[]> {
  const issued = deviceIds.map(() => issueToken('fld'))
  await connection.query(
    `INSERT INTO device_token (id, organization_id, device_id, token_hash, enrollment_nonce_hash, enrolled_at)
     SELECT id, $1, device_id, token_hash, $5::bytea, CASE WHEN $5::bytea IS NOT NULL THEN COALESCE($6, now()) END
       FROM unnest($2::text[], $3::uuid[], $4::bytea[]) AS t(id, device_id, token_hash)`,
    [
      organizationId,
      issued.map(({ id }) => id),
      deviceIds,
      issued.map(({ hash }) => hash),
      nonce?.hash ?? null,
      nonce?.since ?? null,
    ],
  )
  return issued.map(({ token }) => token)
}
