import { placeholders, type QuestdbSql, timestampParameter } from '#questdb/server/sql'
import { type Table, tables } from '#telemetry/rows/tables'

const dayMs = 86_400_000

/**
 * Overwrites all rows of these devices with nulls in every table and returns the number of rows. Afterwards, queries on the
 * tables no longer return the data. The coverage views follow at their next refresh. Rows that arrive later from the log
 * must be erased again.
 *
 * Empty rows replace the old ones under their keys. An UPDATE would invalidate the views, which must then be rebuilt; a
 * replaced row is part of their next refresh.
 */
export async function eraseTelemetry(questdb: QuestdbSql, deviceIds: readonly string[]): Promise<number> {
  let erased = 0
  for (const table of Object.values(tables)) erased += await eraseFrom(questdb, table, deviceIds)
  return erased
}

/**
 * Runs `eraseTelemetry` on all copies and returns the number of rows of the first one. A copy that fails does not prevent the
 * erasure on the others; afterwards, this throws its error, so that the caller repeats the erasure.
 */
export async function eraseFromCopies(copies: readonly QuestdbSql[], deviceIds: readonly string[]): Promise<number> {
  const results = await Promise.allSettled(copies.map((copy) => eraseTelemetry(copy, deviceIds)))
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return results[0]?.status === 'fulfilled' ? results[0].value : 0
}

/** Selects rows that are not erased. An erased row has no time of receipt. */
const ofDevices = (deviceIds: readonly string[]) =>
  `device_id IN (${placeholders(deviceIds.length, 1)}) AND received_at IS NOT NULL`

async function eraseFrom(questdb: QuestdbSql, table: Table, deviceIds: readonly string[]): Promise<number> {
  let erased = 0
  // The table is partitioned by day, so that each statement rewrites one partition.
  for (const { dayMs: startMs, held } of await daysOf(questdb, table, deviceIds)) {
    const [from, to] = [`$${deviceIds.length + 1}`, `$${deviceIds.length + 2}`]
    // A dwell without values would still count as a dwell.
    const extra = table.name === 'dwell' ? { column: ', withdrawn', value: ', true' } : { column: '', value: '' }
    const key = ['ts', 'device_id', 'org_id', ...table.sourceColumns].join(', ')
    await questdb.query(
      `INSERT INTO ${table.name} (${key}${extra.column})
       SELECT ${key}${extra.value} FROM ${table.name}
       WHERE ts >= ${from} AND ts < ${to} AND ${ofDevices(deviceIds)}`,
      [...deviceIds, timestampParameter(startMs), timestampParameter(startMs + dayMs)],
    )
    erased += Number(held)
  }
  if (erased === 0) return 0
  await questdb.query(`SELECT wait_wal_table('${table.name}')`)
  const left = await daysOf(questdb, table, deviceIds)
  if (left.length > 0) throw new Error(`Erased rows are still readable in ${table.name}.`)
  return erased
}

const daysOf = (questdb: QuestdbSql, table: Table, deviceIds: readonly string[]) =>
  questdb.query<{ dayMs: number; held: string }>(
    `SELECT timestamp_floor('d', ts) AS "dayMs", count() AS held FROM ${table.name} WHERE ${ofDevices(deviceIds)}
     GROUP BY "dayMs" ORDER BY "dayMs"`,
    [...deviceIds],
  )
