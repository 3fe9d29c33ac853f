import type { Queryable } from '#postgres/pool'
import { type AccessRow, accessColumns, accessOf, type DeviceAccessFacts } from './token-grants.ts'

/** A gateway that speaks for a device. `keyHash`: SHA-256 of its enrollment key in base64. */
export type GatewayClaim = { keyHash: string; kind: 'serial' | 'imei' | 'mac'; value: string }

/** What a claim permits. `device` is undefined if the key is valid and its organization has no such device. */
type GatewayGrant = { claim: GatewayClaim; device: DeviceAccessFacts | undefined }

type Row = Partial<AccessRow> & { position: number }

/** Returns the grants of these claims. Claims with a key that is unknown, expired, revoked or no gateway's are left out. */
export async function findGatewayGrants(db: Queryable, claims: readonly GatewayClaim[]): Promise<GatewayGrant[]> {
  if (claims.length === 0) return []
  const { rows } = await db.query<Row>(
    `SELECT asked.position::int AS position, k.expires_at, ${accessColumns}
       FROM unnest($1::bytea[], $2::text[], $3::text[]) WITH ORDINALITY AS asked (key_hash, kind, value, position)
       JOIN enrollment_key k ON k.token_hash = asked.key_hash AND k.allow_gateway AND k.revoked_at IS NULL
         AND (k.expires_at IS NULL OR k.expires_at > now())
       JOIN organization o ON o.id = k.organization_id
       LEFT JOIN LATERAL (
         SELECT id FROM device
          WHERE asked.kind = 'serial' AND organization_id = k.organization_id AND serial = asked.value
         UNION ALL
         SELECT device_id FROM device_identifier
          WHERE organization_id = k.organization_id AND kind = asked.kind AND value = asked.value
       ) found ON true
       LEFT JOIN device d ON d.id = found.id AND d.organization_id = k.organization_id`,
    [
      claims.map(({ keyHash }) => Buffer.from(keyHash, 'base64')),
      claims.map(({ kind }) => kind),
      claims.map(({ value }) => value),
    ],
  )
  return rows.flatMap((row) => {
    const claim = claims[row.position - 1]
    return claim ? [{ claim, device: row.device_id ? accessOf(row as AccessRow) : undefined }] : []
  })
}
