import { issueToken } from '#core/tokens'
import { recordAudit } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { findDevice } from '#fleet/devices/device'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

export type IssuedDeviceToken = { token: string; expiresAt: string | null }

/**
 * Issues a device's token (`device:update`), shown once. Earlier ones work 24 h more, so that a router can be given the
 * new one while it still talks with the old; with `revoke` they stop at once.
 */
export async function issueDeviceToken(
  ctx: FleetContext,
  deviceId: string,
  options: { revoke: boolean },
): Promise<IssuedDeviceToken> {
  const { organization_id: organizationId } = await findDevice(ctx, ctx.pool, deviceId, 'device:update')
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    await requireActiveSubscription(ctx, connection, organizationId)
    const device = await findDevice(ctx, connection, deviceId, 'device:update', true)
    await retireTokens(connection, device.id, options.revoke)
    const [token = ''] = await insertDeviceTokens(connection, device.organization_id, [device.id])
    await recordAudit(connection, [
      {
        organizationId: device.organization_id,
        actor: ctx.principal.id,
        action: options.revoke ? 'device.token_replaced' : 'device.token_issued',
        subjectType: 'device',
        subjectId: device.id,
        requestId: ctx.requestId,
      },
    ])
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

/** A fresh token for each device, in order. Only their hashes are stored. */
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
