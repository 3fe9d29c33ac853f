import type { Pool } from '#postgres/pool'

/** Counts the open database connections by `application_name`, without those of the harness. */
export async function countConnections(pool: Pool): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ name: string; count: number }>(
    `SELECT application_name AS name, count(*)::int AS count FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND application_name <> 'attacks' GROUP BY 1`,
  )
  return new Map(rows.map(({ name, count }) => [name, count]))
}

/**
 * The permitted connections of the apps. Pools open connections on demand. Each of the three apps has one listener, which may
 * be reconnecting when an attack begins. The worker has three queues and three queue workers with a pool of four each, and `worker`
 * includes the two connections of its thread of comparisons.
 */
const poolSizes: Record<string, number> = { 'control-plane': 16, ingest: 8, worker: 14, listener: 3, queue: 24 }

/** Returns a phrase for each application with more connections than before and than its pool permits. */
export function leftBehind(before: Map<string, number>, after: Map<string, number>): string[] {
  return [...after].flatMap(([name, count]) => {
    const allowed = Math.max(before.get(name) ?? 0, poolSizes[name] ?? 0)
    return count > allowed ? [`${name || 'unnamed'} ${before.get(name) ?? 0} → ${count}`] : []
  })
}
