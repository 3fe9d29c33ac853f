import type { Clock } from '#core/clock'
import type { Connection, Pool } from '#postgres/pool'

export type Erasure = {
  pool: Pool
  clock: Clock
  /** Overwrites everything these devices have reported and returns how many rows that were; verified when it returns. */
  eraseTelemetry: (deviceIds: readonly string[]) => Promise<number>
}

const devicesAtOnce = 200
const hourMs = 3_600_000

/**
 * How long a deleted device is looked for again. What it had sent before may still wait in the telemetry log while the
 * telemetry store is away, and a restarted writer sends its last minutes again.
 */
const watchedDays = 7

// Any constant will do; it keeps two workers from rewriting the same partitions.
const advisoryLock = 7_264_115_002

/**
 * Erases the telemetry of deleted devices: of those not erased yet, and again of those deleted in the last days. Returns
 * how many devices it looked at; 0 when another worker is at it. A request that has been watched long enough goes.
 */
export async function eraseDeletedDevices(erasure: Erasure): Promise<number> {
  const connection = await erasure.pool.connect()
  try {
    const { rows } = await connection.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [
      advisoryLock,
    ])
    if (!rows[0]?.held) return 0
    try {
      return await eraseAll(connection, erasure)
    } finally {
      await connection.query('SELECT pg_advisory_unlock($1)', [advisoryLock])
    }
  } finally {
    connection.release()
  }
}

async function eraseAll(connection: Connection, { clock, eraseTelemetry }: Erasure): Promise<number> {
  const startedAt = new Date(clock())
  let seen = 0
  for (;;) {
    const deviceIds = await nextRequests(connection, startedAt)
    if (deviceIds.length === 0) break
    await eraseTelemetry(deviceIds)
    await connection.query('UPDATE erasure_request SET finished_at = $2 WHERE device_id = ANY ($1::uuid[])', [
      deviceIds,
      startedAt,
    ])
    seen += deviceIds.length
  }
  await connection.query(
    'DELETE FROM erasure_request WHERE finished_at = $1 AND requested_at < $1 - make_interval(days => $2)',
    [startedAt, watchedDays],
  )
  return seen
}

async function nextRequests(connection: Connection, startedAt: Date): Promise<string[]> {
  const { rows } = await connection.query<{ device_id: string }>(
    `SELECT device_id FROM erasure_request WHERE finished_at IS NULL OR finished_at < $1
     ORDER BY requested_at LIMIT ${devicesAtOnce}`,
    [startedAt],
  )
  return rows.map((row) => row.device_id)
}

/**
 * `eraseDeletedDevices` once a night: when the UTC hour has come and it was not done since. Meant to be called every few
 * minutes, by any number of workers.
 */
export async function eraseNightly(erasure: Erasure, hourUtc: number): Promise<number> {
  const nowMs = erasure.clock()
  const dueMs = new Date(nowMs).setUTCHours(hourUtc, 0, 0, 0)
  if (nowMs < dueMs || nowMs >= dueMs + hourMs) return 0
  const { rowCount } = await erasure.pool.query(
    'SELECT 1 FROM erasure_request WHERE finished_at IS NULL OR finished_at < $1 LIMIT 1',
    [new Date(dueMs)],
  )
  return rowCount ? eraseDeletedDevices(erasure) : 0
}
