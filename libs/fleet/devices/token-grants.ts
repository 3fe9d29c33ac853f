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

export type AccessRow = {
  device_id: string
  organization_id: string
  tags: string[]
  status: string
  /** Of the token or the key. */
  expires_at: Date | null
  subscription_status: string
  subscription_changed_at: Date
}

/** The columns of an `AccessRow` without `expires_at`, for a device named `d` and its organization `o`. */
export const accessColumns =
  'd.id AS device_id, d.organization_id, d.tags, d.status, o.subscription_status, o.subscription_changed_at'

// Telemetry is accepted for this time after a subscription ended, so that a returning customer has a complete history.
const graceMs = 30 * 24 * 60 * 60 * 1_000

export const accessOf = (row: AccessRow): DeviceAccessFacts => ({
  deviceId: row.device_id,
  organizationId: row.organization_id,
  tags: row.tags,
  disabled: row.status === 'disabled',
  expiresAtMs: row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
  refusedFromMs: ['suspended', 'cancelled'].includes(row.subscription_status)
    ? row.subscription_changed_at.getTime() + graceMs
    : Number.POSITIVE_INFINITY,
})

/** Returns the grants of these token hashes. Unknown, expired and revoked tokens are left out. */
export async function findTokenGrants(db: Queryable, tokenHashes: readonly string[]): Promise<TokenGrant[]> {
  if (tokenHashes.length === 0) return []
  const { rows } = await db.query<AccessRow & { token_hash: Buffer }>(
    `SELECT t.token_hash, t.expires_at, ${accessColumns}
       FROM device_token t
       JOIN device d ON d.id = t.device_id AND d.organization_id = t.organization_id
       JOIN organization o ON o.id = t.organization_id
      WHERE t.token_hash = ANY($1::bytea[]) AND (t.expires_at IS NULL OR t.expires_at > now())`,
    [tokenHashes.map((tokenHash) => Buffer.from(tokenHash, 'base64'))],
  )
  return rows.map((row) => ({ tokenHash: row.token_hash.toString('base64'), device: accessOf(row) }))
}
