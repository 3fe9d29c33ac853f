import { issueToken } from '#core/tokens'
import type { FleetContext } from '#fleet/context'
import { auditDevice, findDevice } from '#fleet/devices/device'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

type IssuedDeviceToken = { token: string; expiresAt: string | null }

/**
 * Issues a token for a device (`device:update`); it is returned only here. Earlier tokens remain valid for 24 h, so that the
 * router can be updated while it still uses the old one. With `revoke`, they become invalid at once.
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
    return { token, expiresAt: null }
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

/** Issues a token for each device and returns them in order. Stores only their hashes. */
export async function insertDeviceTokens(
  connection: Connection,
  organizationId: string,
  deviceIds: readonly string[],
): Promise<string[]> {
  const issued = deviceIds.map(() => issueToken('fld'))
  await connection.query(
    `INSERT INTO device_token (id, organization_id, device_id, token_hash)
     SELECT id, $1, device_id, token_hash FROM unnest($2::text[], $3::uuid[], $4::bytea[]) AS t(id, device_id, token_hash)`,
    [organizationId, issued.map(({ id }) => id), deviceIds, issued.map(({ hash }) => hash)],
  )
  return issued.map(({ token }) => token)
}
