import type { Clock } from '#core/clock'
import { createFairRounds, type FairRounds } from '#core/fair-rounds'
import { bisectOwners } from '#postgres/bisect'
import type { Connection, Pool } from '#postgres/pool'

export type Erasure = {
  pool: Pool
  clock: Clock
  /** Overwrites and verifies all telemetry of these devices. Returns how many rows. */
  eraseTelemetry: (deviceIds: readonly string[]) => Promise<number>
}

const devicesAtOnce = 200
const hourMs = 3_600_000

/**
 * For how many days the erasure of a deleted device is repeated. Its telemetry may reach the store late, from the telemetry
 * log after an outage of the store, or from a restarted writer, which sends its last minutes again.
 */
const repeatedDays = 7

// An arbitrary constant. The lock prevents two workers from rewriting the same partitions.
const advisoryLock = 7_264_115_002

/**
 * Erases the telemetry of deleted devices: of new requests, and again of those of the last 7 days; then deletes older
 * requests. Organizations take turns. Returns the number of devices, or 0 when another worker is erasing.
 */
export async function eraseDeletedDevices(
  erasure: Erasure,
  rounds: Pick<FairRounds, 'report'> = createFairRounds(),
): Promise<number> {
  const connection = await erasure.pool.connect()
  try {
    const { rows } = await connection.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [
      advisoryLock,
    ])
    if (!rows[0]?.held) return 0
    try {
      return await eraseAll(connection, erasure, rounds)
    } finally {
      await connection.query('SELECT pg_advisory_unlock($1)', [advisoryLock])
    }
  } finally {
    connection.release()
  }
}

type Request = { device_id: string; organization_id: string }

async function eraseAll(
  connection: Connection,
  { clock, eraseTelemetry }: Erasure,
  rounds: Pick<FairRounds, 'report'>,
): Promise<number> {
  const startedAt = new Date(clock())
  const failed = new Map<string, unknown>()
  let count = 0
  const erase = async (requests: readonly Request[]) => {
    const deviceIds = requests.map(({ device_id }) => device_id)
    await eraseTelemetry(deviceIds)
    await connection.query('UPDATE erasure_request SET finished_at = $2 WHERE device_id = ANY ($1::uuid[])', [
      deviceIds,
      startedAt,
    ])
    count += deviceIds.length
  }
  for (;;) {
    const requests = await nextRequests(connection, startedAt, [...failed.keys()])
    if (requests.length === 0) break
    await bisectOwners(
      requests,
      ({ organization_id }) => organization_id,
      erase,
      (organizationId, error) => failed.set(organizationId, error),
    )
  }
  await connection.query(
    'DELETE FROM erasure_request WHERE finished_at = $1 AND requested_at < $1 - make_interval(days => $2)',
    [startedAt, repeatedDays],
  )
  for (const [organizationId, error] of failed) rounds.report(error, organizationId)
  return count
}

/**
 * The next requests: the oldest one of each organization, then the second of each, and so on. Together, because a statement of
 * QuestDB rewrites a partition for any number of devices.
 */
async function nextRequests(connection: Connection, startedAt: Date, except: readonly string[]): Promise<Request[]> {
  const { rows } = await connection.query<Request>(
    `SELECT device_id, organization_id FROM (
       SELECT device_id, organization_id, requested_at,
         row_number() OVER (PARTITION BY organization_id ORDER BY requested_at) AS place
       FROM erasure_request
       WHERE (finished_at IS NULL OR finished_at < $1) AND organization_id <> ALL ($2::uuid[])
     ) waiting ORDER BY place, requested_at LIMIT ${devicesAtOnce}`,
    [startedAt, except],
  )
  return rows
}

/**
 * Runs `eraseDeletedDevices` once a day, in the given hour (UTC). To be called every few minutes; any number of workers may
 * do so.
 */
export async function eraseNightly(
  erasure: Erasure,
  { hourUtc }: { hourUtc: number },
  rounds: Pick<FairRounds, 'report'> = createFairRounds(),
): Promise<number> {
  const nowMs = erasure.clock()
  const dueMs = new Date(nowMs).setUTCHours(hourUtc, 0, 0, 0)
  if (nowMs < dueMs || nowMs >= dueMs + hourMs) return 0
  const { rowCount } = await erasure.pool.query(
    'SELECT 1 FROM erasure_request WHERE finished_at IS NULL OR finished_at < $1 LIMIT 1',
    [new Date(dueMs)],
  )
  return rowCount ? eraseDeletedDevices(erasure, rounds) : 0
}
