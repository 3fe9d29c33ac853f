import { notFound } from '#core/errors'
import { issueToken } from '#core/tokens'
import { authorizeFound } from '#fleet/access/authorize-object'
import type { FleetContext } from '#fleet/context'
import { auditDevice, findDevice, findVisibleDevice } from '#fleet/devices/device'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { decodePosition, encodePosition, type Page, type PageRequest, pageBy } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

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
  const { organization_id: organizationId } = await findDevice(ctx, ctx.pool, deviceId, 'device:update')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    const device = await findDevice(ctx, connection, deviceId, 'device:update', true)
    await retireTokens(connection, device.id, revoke)
    const [token = ''] = await insertDeviceTokens(connection, device.organization_id, [device.id])
    await auditDevice(ctx, connection, device, revoke ? 'device.token_replaced' : 'device.token_issued')
    const owner = device.id
    await requireWithinLimit(ctx, connection, { organizationId: device.organization_id, limit: 'deviceTokens', owner })
    return { token, expiresAt: null }
  })
}

/** A token without its secret. `id` is the part between `fld_` and the next `_`. */
type DeviceToken = { id: string; createdAt: string; expiresAt: string | null }

type TokenRow = { id: string; created_at: Date; created_text: string; expires_at: Date | null }

/** The device's tokens that are valid, newest first (`device:read`). Throws 404. */
export async function listDeviceTokens(
  ctx: FleetContext,
  { deviceId, page }: { deviceId: string; page: PageRequest },
): Promise<Page<DeviceToken>> {
  const device = await findDevice(ctx, ctx.pool, deviceId, 'device:read')
  const after = decodePosition(page.after)
  return tenantTransaction(ctx, [device.organization_id], async (connection) => {
    const { rows } = await connection.query<TokenRow>(
      `SELECT id, created_at, created_at::text AS created_text, expires_at FROM device_token
        WHERE organization_id = $1 AND device_id = $2 AND (expires_at IS NULL OR expires_at > now())
          AND ($3::timestamptz IS NULL OR (created_at, id) < ($3, $4))
        ORDER BY created_at DESC, id DESC LIMIT $5`,
      [device.organization_id, device.id, after?.at ?? null, after?.id ?? null, page.limit + 1],
    )
    return pageBy(rows, page.limit, toDeviceToken, encodePosition)
  })
}

const toDeviceToken = ({ id, created_at, expires_at }: TokenRow): DeviceToken => ({
  id,
  createdAt: created_at.toISOString(),
  expiresAt: expires_at?.toISOString() ?? null,
})

/** Revokes one token of a device at once (`device:update`). Throws 404 for a token that the device does not have. */
export async function revokeDeviceToken(
  ctx: FleetContext,
  { deviceId, tokenId }: { deviceId: string; tokenId: string },
): Promise<void> {
  const { organization_id: organizationId } = await findVisibleDevice(ctx, ctx.pool, deviceId)
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
    await auditDevice(ctx, connection, device, 'device.token_revoked', { tokenId })
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
