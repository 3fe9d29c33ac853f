import type { Pool } from '#postgres/pool'

/** Open connections of the database by `application_name`, without the harness' own. */
export async function countConnections(pool: Pool): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ name: string; count: number }>(
    `SELECT application_name AS name, count(*)::int AS count FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND application_name <> 'attacks' GROUP BY 1`,
  )
  return new Map(rows.map(({ name, count }) => [name, count]))
}

/**
 * How many connections the apps may hold: their pools open them as they need them, and each of the three apps has one
 * listener, which may be between two attempts when an attack begins. The worker opens three queues and works on them,
 * each with a pool of four.
 */
const poolSizes: Record<string, number> = { 'control-plane': 16, ingest: 4, worker: 12, listener: 3, queue: 24 }

/** A phrase for every application that holds more connections than before and more than its pool may. */
export function leftBehind(before: Map<string, number>, after: Map<string, number>): string[] {
  return [...after].flatMap(([name, count]) => {
    const allowed = Math.max(before.get(name) ?? 0, poolSizes[name] ?? 0)
    return count > allowed ? [`${name || 'unnamed'} ${before.get(name) ?? 0} → ${count}`] : []
  })
}
