import type { Principal } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import { type Plans, planNamed } from '#fleet/organizations/plans'
import type { Queryable } from '#postgres/pool'

/** Rate limit of a platform principal, which has no organization and therefore no plan. */
export const platformRequestsPerMinute = 6_000

type StoredKey = {
  id: string
  name: string
  tokenHash: Buffer
  platform: boolean
  organizationId: string | null
  plan: string | null
  expiresAt: Date | null
  grants: Record<string, Scope[]> | null
}

export type KeySource = { db: Queryable; plans: Plans }

/** `personId`: the person whose roles the session has. */
export type FoundKey = { id: string; principal: Principal; expiresAtMs: number | null; personId?: string }

const selectKey = `
  SELECT k.id, k.name, k.token_hash AS "tokenHash", k.platform, k.organization_id AS "organizationId", o.plan, k.expires_at AS "expiresAt",
         jsonb_object_agg(g.organization_id, g.scopes) FILTER (WHERE g.organization_id IS NOT NULL) AS grants
    FROM api_key k
    LEFT JOIN organization o ON o.id = k.organization_id
    LEFT JOIN api_key_grant g ON g.api_key_id = k.id
   WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`

/** Finds keys by their token hashes (base64). Returns them by hash, without unknown, expired and revoked ones. */
export const findKeysByHash = (source: KeySource, hashes: readonly string[]): Promise<Map<string, FoundKey>> =>
  findKeys(
    source,
    'k.token_hash = ANY($1::bytea[])',
    hashes.map((hash) => Buffer.from(hash, 'base64')),
    ({ tokenHash }) => tokenHash.toString('base64'),
  )

/** Finds keys by their public ids, for access tokens. Returns them by id, without unknown, expired and revoked ones. */
export const findKeysById = (source: KeySource, ids: readonly string[]): Promise<Map<string, FoundKey>> =>
  findKeys(source, 'k.id = ANY($1::text[])', ids, ({ id }) => id)

async function findKeys(
  { db, plans }: KeySource,
  condition: string,
  values: readonly unknown[],
  nameOf: (key: StoredKey) => string,
): Promise<Map<string, FoundKey>> {
  const { rows } = await db.query<StoredKey>(`${selectKey} AND ${condition} GROUP BY k.id, o.id`, [values])
  return new Map(rows.map((key) => [nameOf(key), toFoundKey(plans, key)]))
}

function toFoundKey(
  plans: Plans,
  { id, name, platform, organizationId, plan, expiresAt, grants }: StoredKey,
): FoundKey {
  return {
    id,
    expiresAtMs: expiresAt?.getTime() ?? null,
    principal: {
      id: `key:${id}`,
      name,
      platform,
      homeOrganizationId: organizationId,
      grants: new Map(Object.entries(grants ?? {}).map(([granted, scopes]) => [granted, new Set(scopes)])),
      rateLimit:
        organizationId === null
          ? { key: `key:${id}`, perMinute: platformRequestsPerMinute }
          : { key: `org:${organizationId}`, perMinute: planNamed(plans, plan ?? 'free').requestsPerMinute },
    },
  }
}
