import type { Queryable } from '#postgres/pool'
import type { LogPosition } from '#telemetry-log/log'

/** How far a copy is in one partition. */
export type CopyProgress = {
  partition: number
  /** Queries return everything that was in the log at this time of Postgres' clock. Undefined: no later than known. */
  storedToMs: number | undefined
  /** Postgres has the changes by all reports before this position. Undefined: no further than known. */
  toldPosition: LogPosition | undefined
}

/** Creates the rows of a copy that are missing, and deletes those of partitions that the topic no longer has. */
export async function prepareCopyProgress(db: Queryable, copy: string, partitions: number): Promise<void> {
  await db.query(
    `INSERT INTO copy_progress (copy, partition) SELECT $1, generate_series(0, $2::int - 1) ON CONFLICT DO NOTHING`,
    [copy, partitions],
  )
  await db.query('DELETE FROM copy_progress WHERE copy = $1 AND partition >= $2', [copy, partitions])
}

/** Records progress. Times and positions only grow, because two writers may overlap for a moment. */
export async function recordCopyProgress(
  db: Queryable,
  copy: string,
  progress: readonly CopyProgress[],
): Promise<void> {
  await db.query(
    `INSERT INTO copy_progress AS known (copy, partition, stored_to, told_position)
     SELECT $1, partition, stored_to, coalesce(told_position, 0)
       FROM unnest($2::int[], $3::timestamptz[], $4::bigint[]) AS new(partition, stored_to, told_position)
     ON CONFLICT (copy, partition) DO UPDATE
       SET stored_to = greatest(known.stored_to, EXCLUDED.stored_to),
           told_position = greatest(known.told_position, EXCLUDED.told_position)`,
    [
      copy,
      progress.map(({ partition }) => partition),
      progress.map(({ storedToMs }) => (storedToMs === undefined ? null : new Date(storedToMs))),
      progress.map(({ toldPosition }) => toldPosition ?? null),
    ],
  )
}

/** Returns Postgres' time in epoch milliseconds, and up to where any copy has told Postgres of each partition. */
export async function readToldPositions(
  db: Queryable,
): Promise<{ nowMs: number; told: ReadonlyMap<number, LogPosition> }> {
  const { rows } = await db.query<{ now_ms: number; told: Record<string, number> | null }>(
    `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
            (SELECT jsonb_object_agg(partition, told_position) FROM (
               SELECT partition, max(told_position) AS told_position FROM copy_progress GROUP BY partition
             ) furthest) AS told`,
  )
  const { now_ms: nowMs = 0, told = null } = rows[0] ?? {}
  return {
    nowMs,
    told: new Map(Object.entries(told ?? {}).map(([partition, position]) => [Number(partition), position])),
  }
}

/** Records that Postgres was told nothing of partitions whose positions have begun anew, in a topic that was replaced. */
export async function forgetToldPositions(db: Queryable, partitions: readonly number[]): Promise<void> {
  await db.query('UPDATE copy_progress SET told_position = 0 WHERE partition = ANY ($1::int[])', [partitions])
}

/**
 * Returns the lag of each copy in milliseconds, by Postgres' clock: all reports that were accepted longer ago can be read. A
 * copy is absent while the progress of any partition is unknown.
 */
export async function readCopyLags(db: Queryable): Promise<Map<string, number>> {
  const { rows } = await db.query<{ copy: string; lag_ms: number }>(
    `SELECT copy, greatest(0, extract(epoch FROM clock_timestamp() - min(stored_to)) * 1000)::float8 AS lag_ms
       FROM copy_progress GROUP BY copy HAVING bool_and(stored_to IS NOT NULL)`,
  )
  return new Map(rows.map(({ copy, lag_ms }) => [copy, lag_ms]))
}
