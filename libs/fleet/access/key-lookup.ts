import type { Principal } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import { type Plans, planNamed } from '#fleet/organizations/plans'
import type { Queryable } from '#postgres/pool'

/** Rate limit of a platform principal, which has no organization and therefore no plan. */
export const platformRequestsPerMinute = 6_000

type KeyRow = {
  id: string
  name: string
  token_hash: Buffer
  platform: boolean
  organization_id: string | null
  plan: string | null
  expires_at: Date | null
  grants: Record<string, Scope[]> | null
}

export type KeySource = { db: Queryable; plans: Plans }

export type FoundKey = { id: string; principal: Principal; expiresAtMs: number | null }

const selectKey = `
  SELECT k.id, k.name, k.token_hash, k.platform, k.organization_id, o.plan, k.expires_at,
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
    (row) => row.token_hash.toString('base64'),
  )

/** Finds keys by their public ids, for access tokens. Returns them by id, without unknown, expired and revoked ones. */
export const findKeysById = (source: KeySource, ids: readonly string[]): Promise<Map<string, FoundKey>> =>
  findKeys(source, 'k.id = ANY($1::text[])', ids, (row) => row.id)

async function findKeys(
  { db, plans }: KeySource,
  condition: string,
  values: readonly unknown[],
  nameOf: (row: KeyRow) => string,
): Promise<Map<string, FoundKey>> {
  const { rows } = await db.query<KeyRow>(`${selectKey} AND ${condition} GROUP BY k.id, o.id`, [values])
  return new Map(rows.map((row) => [nameOf(row), toFoundKey(plans, row)]))
}

function toFoundKey(plans: Plans, row: KeyRow): FoundKey {
  return {
    id: row.id,
    expiresAtMs: row.expires_at?.getTime() ?? null,
    principal: {
      id: `key:${row.id}`,
      name: row.name,
      platform: row.platform,
      homeOrganizationId: row.organization_id,
      grants: new Map(Object.entries(row.grants ?? {}).map(([id, scopes]) => [id, new Set(scopes)])),
      rateLimit:
        row.organization_id === null
          ? { key: `key:${row.id}`, perMinute: platformRequestsPerMinute }
          : { key: `org:${row.organization_id}`, perMinute: planNamed(plans, row.plan ?? 'free').requestsPerMinute },
    },
  }
}
