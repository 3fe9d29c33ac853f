import { accessColumns, type DeviceAccessFacts } from '#fleet/devices/credentials/token-grants'
import type { Plans } from '#fleet/organizations/plans'
import { epochMs } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/** A gateway that speaks for a device. `keyHash`: SHA-256 of its enrollment key in base64. */
export type GatewayClaim = { keyHash: string; kind: 'serial' | 'imei' | 'mac'; value: string }

/**
 * What a claim permits. `device` is undefined if the key is valid and opens no such device. While a device has a token of its
 * own, until `ownTokenUntilMs`, a gateway gets neither its jobs nor its configuration.
 */
type GatewayGrant = { claim: GatewayClaim; device: GatewayDevice | undefined }

type GatewayDevice = DeviceAccessFacts & { ownTokenUntilMs: number }

/**
 * Returns the grants of these claims. Claims with a key that is unknown, expired, revoked or no gateway's are left out. A key
 * that is bound to a group opens its effective members; none once the group is deleted.
 */
export async function findGatewayGrants(
  { db, plans }: { db: Queryable; plans: Plans },
  claims: readonly GatewayClaim[],
): Promise<GatewayGrant[]> {
  if (claims.length === 0) return []
  const { rows } = await db.query<GatewayDevice & { position: number }>(
    `SELECT asked.position::int AS position, ${accessColumns('k.expires_at')}, own."ownTokenUntilMs"
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
         SELECT coalesce(max(coalesce(${epochMs('t.expires_at')}, 'Infinity')), 0) AS "ownTokenUntilMs"
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
  return rows.flatMap(({ position, ...device }): GatewayGrant[] => {
    const claim = claims[position - 1]
    return claim ? [{ claim, device: device.deviceId ? device : undefined }] : []
  })
}
