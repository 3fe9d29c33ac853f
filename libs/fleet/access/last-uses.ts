import type { Queryable } from '#postgres/pool'

/** Ids with the time of their last use in epoch milliseconds. */
type Uses = ReadonlyMap<string, number>

/** Stores when API keys were last used. Ignores keys that no longer exist and times before the stored ones. */
export async function storeKeyUses(db: Queryable, uses: Uses): Promise<void> {
  await db.query(
    `INSERT INTO api_key_use (api_key_id, last_used_at)
     SELECT used.id, used.at FROM unnest($1::text[], $2::timestamptz[]) AS used (id, at)
       JOIN api_key ON api_key.id = used.id ORDER BY used.id
     ON CONFLICT (api_key_id) DO UPDATE SET last_used_at = greatest(api_key_use.last_used_at, excluded.last_used_at)`,
    parameters(uses),
  )
}

/** Stores when sign-in sessions were last used, like `storeKeyUses`. */
export async function storeSessionUses(db: Queryable, uses: Uses): Promise<void> {
  await db.query(
    `INSERT INTO sign_in_session_use (session_id, last_used_at)
     SELECT used.id, used.at FROM unnest($1::uuid[], $2::timestamptz[]) AS used (id, at)
       JOIN sign_in_session ON sign_in_session.id = used.id ORDER BY used.id
     ON CONFLICT (session_id) DO UPDATE SET last_used_at = greatest(sign_in_session_use.last_used_at, excluded.last_used_at)`,
    parameters(uses),
  )
}

const parameters = (uses: Uses) => [[...uses.keys()], [...uses.values()].map((ms) => new Date(ms))]
