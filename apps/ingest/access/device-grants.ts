import { type DeviceIdentity, identityHeader, parseIdentityHeader } from '#device-edge/gateway'
import { findGatewayGrants } from '#fleet/devices/credentials/gateway-grants'
import { type DeviceAccessFacts, findTokenGrants } from '#fleet/devices/credentials/token-grants'
import type { Plans } from '#fleet/organizations/plans'
import type { Queryable } from '#postgres/pool'
import type { DeviceClass } from '#telemetry/position/dwell'

/**
 * What the credentials of a device permit, and the class of the device. `credential` identifies them: the hash of a device
 * token, or the hash of a gateway's key and the device that the gateway names.
 */
export type DeviceGrant = Omit<DeviceAccessFacts, 'tags'> & {
  credential: string
  deviceClass: DeviceClass
  /** Of a gateway: until when the device has a token of its own; 0 if it has none. */
  ownTokenUntilMs?: number
}

/** A valid key of a gateway that opens no such device. */
export type UnknownDevice = { credential: string; isUnknownDevice: true }

/** Returns the credential of a gateway's key (its SHA-256 in base64) and a device. */
export const gatewayCredential = (keyHash: string, device: DeviceIdentity): string =>
  `${keyHash} ${identityHeader(device)}`

export const isGatewayCredential = (credential: string): boolean => credential.includes(' ')

/** Returns the grants of these credentials. Unknown, expired and revoked credentials are left out. */
export async function findGrants(
  parts: { db: Queryable; plans: Plans },
  credentials: readonly string[],
): Promise<(DeviceGrant | UnknownDevice)[]> {
  const claims = credentials.filter(isGatewayCredential).map(claimOf)
  const [tokens, gateways] = await Promise.all([
    findTokenGrants(
      parts.db,
      credentials.filter((credential) => !isGatewayCredential(credential)),
    ),
    findGatewayGrants(parts, claims),
  ])
  return [
    ...tokens.map(({ tokenHash, device }) => grantOf(tokenHash, device)),
    ...gateways.map(({ claim, device }) => {
      const credential = gatewayCredential(claim.keyHash, claim)
      return device ? grantOf(credential, device) : { credential, isUnknownDevice: true as const }
    }),
  ]
}

function claimOf(credential: string) {
  const [keyHash = '', device = ''] = credential.split(' ', 2)
  return { keyHash, ...parseIdentityHeader(device) }
}

const grantOf = (
  credential: string,
  { tags, ...facts }: DeviceAccessFacts & { ownTokenUntilMs?: number },
): DeviceGrant => ({
  credential,
  ...facts,
  deviceClass: deviceClassOf(tags),
})

/** A device is a vehicle unless it has the tag `class:ship` or `class:fixed`. The class selects the dwell policy. */
function deviceClassOf(tags: readonly string[]): DeviceClass {
  if (tags.includes('class:ship')) return 'ship'
  return tags.includes('class:fixed') ? 'fixed' : 'vehicle'
}
