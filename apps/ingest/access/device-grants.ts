import type { Queryable } from '#postgres/pool'
import type { DeviceClass } from '#telemetry/dwell'

/** What a device token stands for. */
export type DeviceGrant = {
  tokenHash: string
  deviceId: string
  organizationId: string
  deviceClass: DeviceClass
  disabled: boolean
  /** Infinity when the token does not expire. */
  expiresAtMs: number
  /** From when on telemetry is refused because the subscription ended; Infinity while it is active. */
  refusedFromMs: number
}

type GrantRow = {
  token_hash: Buffer
  device_id: string
  organization_id: string
  tags: string[]
  status: string
  expires_at: Date | null
  subscription_status: string
  subscription_changed_at: Date
}

// Telemetry is kept for a while after a subscription ended, so that a customer who returns has no hole in the history.
const graceMs = 30 * 24 * 60 * 60 * 1_000

/** The grants behind these token hashes (base64 of SHA-256); unknown, expired and revoked ones are left out. */
export async function findGrants(db: Queryable, tokenHashes: readonly string[]): Promise<DeviceGrant[]> {
  const { rows } = await db.query<GrantRow>(
    `SELECT t.token_hash, t.device_id, t.organization_id, t.expires_at, d.tags, d.status,
            o.subscription_status, o.subscription_changed_at
       FROM device_token t
       JOIN device d ON d.id = t.device_id AND d.organization_id = t.organization_id
       JOIN organization o ON o.id = t.organization_id
      WHERE t.token_hash = ANY($1::bytea[]) AND (t.expires_at IS NULL OR t.expires_at > now())`,
    [tokenHashes.map((tokenHash) => Buffer.from(tokenHash, 'base64'))],
  )
  return rows.map((row) => ({
    tokenHash: row.token_hash.toString('base64'),
    deviceId: row.device_id,
    organizationId: row.organization_id,
    deviceClass: deviceClassOf(row.tags),
    disabled: row.status === 'disabled',
    expiresAtMs: row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
    refusedFromMs: ['suspended', 'cancelled'].includes(row.subscription_status)
      ? row.subscription_changed_at.getTime() + graceMs
      : Number.POSITIVE_INFINITY,
  }))
}

/** A device is a vehicle unless a tag says `class:ship` or `class:fixed`; the class decides what counts as standing. */
function deviceClassOf(tags: readonly string[]): DeviceClass {
  if (tags.includes('class:ship')) return 'ship'
  return tags.includes('class:fixed') ? 'fixed' : 'vehicle'
}
