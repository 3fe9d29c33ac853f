import { findTokenGrants, type TokenGrant } from '#fleet/devices/token-grants'
import type { Queryable } from '#postgres/pool'
import type { DeviceClass } from '#telemetry/dwell'

/** What a device token permits, and the class of its device. */
export type DeviceGrant = Omit<TokenGrant, 'tags'> & { deviceClass: DeviceClass }

/** Returns the grants of these token hashes (base64 of SHA-256). Unknown, expired and revoked tokens are left out. */
export async function findGrants(db: Queryable, tokenHashes: readonly string[]): Promise<DeviceGrant[]> {
  const grants = await findTokenGrants(db, tokenHashes)
  return grants.map(({ tags, ...grant }) => ({ ...grant, deviceClass: deviceClassOf(tags) }))
}

/** A device is a vehicle unless it has the tag `class:ship` or `class:fixed`. The class selects the dwell policy. */
function deviceClassOf(tags: readonly string[]): DeviceClass {
  if (tags.includes('class:ship')) return 'ship'
  return tags.includes('class:fixed') ? 'fixed' : 'vehicle'
}
