import { epochMs } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/** What the credentials of a device permit. */
export type DeviceAccessFacts = {
  deviceId: string
  organizationId: string
  tags: string[]
  disabled: boolean
  /** Infinity if the credentials do not expire. */
  expiresAtMs: number
  /** The time from which telemetry is rejected because the subscription ended. Infinity while it is active. */
  refusedFromMs: number
}

/** `tokenHash`: SHA-256 of the token, in base64. */
type TokenGrant = { tokenHash: string; device: DeviceAccessFacts }

// Telemetry is accepted for this time after a subscription ended, so that a returning customer has a complete history.
const graceHours = 30 * 24

/**
 * The columns of `DeviceAccessFacts`, for a device named `d` and its organization `o`. `expiresAt` is the SQL of the time at which the
 * credentials expire.
 */
export const accessColumns = (expiresAt: string): string => `
  d.id AS "deviceId", d.organization_id AS "organizationId", d.tags, d.status = 'disabled' AS disabled,
  coalesce(${epochMs(expiresAt)}, 'Infinity') AS "expiresAtMs",
  CASE WHEN o.subscription_status IN ('suspended', 'cancelled')
    THEN ${epochMs(`o.subscription_changed_at + interval '${graceHours} hours'`)} ELSE 'Infinity' END AS "refusedFromMs"`

/** Returns the grants of these token hashes. Unknown, expired and revoked tokens are left out. */
export async function findTokenGrants(db: Queryable, tokenHashes: readonly string[]): Promise<TokenGrant[]> {
  if (tokenHashes.length === 0) return []
  const { rows } = await db.query<DeviceAccessFacts & { tokenHash: Buffer }>(
    `SELECT t.token_hash AS "tokenHash", ${accessColumns('t.expires_at')}
       FROM device_token t
       JOIN device d ON d.id = t.device_id AND d.organization_id = t.organization_id
       JOIN organization o ON o.id = t.organization_id
      WHERE t.token_hash = ANY($1::bytea[]) AND (t.expires_at IS NULL OR t.expires_at > now())`,
    [tokenHashes.map((tokenHash) => Buffer.from(tokenHash, 'base64'))],
  )
  return rows.map(({ tokenHash, ...device }) => ({ tokenHash: tokenHash.toString('base64'), device }))
}
