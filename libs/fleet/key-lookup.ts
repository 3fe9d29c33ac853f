import { type Plans, planNamed } from '#fleet/plans'
import type { Principal } from '#fleet/principal'
import type { Scope } from '#fleet/scopes'
import type { Queryable } from '#postgres/pool'

/** Requests a minute of a platform key, which belongs to no organization and so to no plan. */
const platformRequestsPerMinute = 6_000

type KeyRow = {
  id: string
  platform: boolean
  organization_id: string | null
  plan: string | null
  expires_at: Date | null
  grants: Record<string, Scope[]> | null
}

export type FoundKey = { principal: Principal; expiresAtMs: number | null }

const selectKey = `
  SELECT k.id, k.platform, k.organization_id, o.plan, k.expires_at,
         jsonb_object_agg(g.organization_id, g.scopes) FILTER (WHERE g.organization_id IS NOT NULL) AS grants
    FROM api_key k
    LEFT JOIN organization o ON o.id = k.organization_id
    LEFT JOIN api_key_grant g ON g.api_key_id = k.id
   WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`

/** The principal behind an API key's hash, or undefined when there is none, it expired or was revoked. */
export const findKeyByHash = (db: Queryable, plans: Plans, hash: Buffer): Promise<FoundKey | undefined> =>
  findKey(db, plans, `${selectKey} AND k.token_hash = $1 GROUP BY k.id, o.id`, hash)

/** The same by the key's public id, for access tokens derived from it. */
export const findKeyById = (db: Queryable, plans: Plans, id: string): Promise<FoundKey | undefined> =>
  findKey(db, plans, `${selectKey} AND k.id = $1 GROUP BY k.id, o.id`, id)

async function findKey(db: Queryable, plans: Plans, sql: string, value: unknown): Promise<FoundKey | undefined> {
  const { rows } = await db.query<KeyRow>(sql, [value])
  const row = rows[0]
  if (!row) return undefined
  return {
    expiresAtMs: row.expires_at?.getTime() ?? null,
    principal: {
      id: `key:${row.id}`,
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
