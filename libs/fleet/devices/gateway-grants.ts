import type { Plans } from '#fleet/organizations/plans'
import type { Queryable } from '#postgres/pool'
import { type AccessRow, accessColumns, accessOf, type DeviceAccessFacts } from './token-grants.ts'

/** A gateway that speaks for a device. `keyHash`: SHA-256 of its enrollment key in base64. */
export type GatewayClaim = { keyHash: string; kind: 'serial' | 'imei' | 'mac'; value: string }

/**
 * What a claim permits. `device` is undefined if the key is valid and opens no such device. While a device has a token of its
 * own, until `ownTokenUntilMs`, a gateway gets neither its jobs nor its configuration.
 */
type GatewayGrant = { claim: GatewayClaim; device: (DeviceAccessFacts & { ownTokenUntilMs: number }) | undefined }

type Row = Partial<AccessRow> & { position: number; has_own_token: boolean; last_token_expires_at: Date | null }

/**
 * Returns the grants of these claims. Claims with a key that is unknown, expired, revoked or no gateway's are left out. A key
 * that is bound to a group opens its effective members; none once the group is deleted.
 */
export async function findGatewayGrants(
  { db, plans }: { db: Queryable; plans: Plans },
  claims: readonly GatewayClaim[],
): Promise<GatewayGrant[]> {
  if (claims.length === 0) return []
  const { rows } = await db.query<Row>(
    `SELECT asked.position::int AS position, k.expires_at, ${accessColumns},
            own.has_own_token, own.last_token_expires_at
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
       LEFT JOIN device_group g ON g.organization_id = k.organization_id AND g.id = k.gateway_group_id
       LEFT JOIN device d ON d.id = found.id AND d.organization_id = k.organization_id
         AND (k.gateway_group_id IS NULL OR o.plan = ANY($4) AND d.tags && g.smart_tags
           -- Looks up one member. The condition of other queries reads all members of the group, once for each claim here.
           OR EXISTS (SELECT FROM device_group_member m
             WHERE m.organization_id = g.organization_id AND m.group_id = g.id AND m.device_id = d.id))
       LEFT JOIN LATERAL (
         SELECT count(*) > 0 AS has_own_token,
                CASE WHEN bool_and(t.expires_at IS NOT NULL) THEN max(t.expires_at) END AS last_token_expires_at
           FROM device_token t
          WHERE t.organization_id = d.organization_id AND t.device_id = d.id AND (t.expires_at IS NULL OR t.expires_at > now())
       ) own ON true`,
    [
      claims.map(({ keyHash }) => Buffer.from(keyHash, 'base64')),
      claims.map(({ kind }) => kind),
      claims.map(({ value }) => value),
      Object.keys(plans).filter((plan) => plans[plan]?.smartTagGroups),
    ],
  )
  return rows.flatMap((row): GatewayGrant[] => {
    const claim = claims[row.position - 1]
    if (!claim) return []
    if (!row.device_id) return [{ claim, device: undefined }]
    return [{ claim, device: { ...accessOf(row as AccessRow), ownTokenUntilMs: ownTokenUntilMs(row) } }]
  })
}

function ownTokenUntilMs({ has_own_token, last_token_expires_at }: Row): number {
  if (!has_own_token) return 0
  return last_token_expires_at?.getTime() ?? Number.POSITIVE_INFINITY
}
