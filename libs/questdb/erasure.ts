import { type QuestdbSql, timestampParameter } from '#questdb/sql'
import { type Table, tables } from '#telemetry/tables'

const dayMs = 86_400_000

/**
 * Overwrites everything these devices have reported with nulls, in every table, and returns how many rows that were.
 * When it returns, queries see none of it in the tables any more; the coverage views follow at their next refresh.
 * What arrives later from a log that has not drained must be erased again.
 *
 * Rows are written again empty under their key instead of updated: an UPDATE would invalidate the views, which then
 * have to be built anew as a whole, while a replaced row is one they refresh by themselves.
 */
export async function eraseTelemetry(questdb: QuestdbSql, deviceIds: readonly string[]): Promise<number> {
  let erased = 0
  for (const table of Object.values(tables)) erased += await eraseFrom(questdb, table, deviceIds)
  return erased
}

/** A row that holds something; an erased one has lost when it was received. */
const ofDevices = (deviceIds: readonly string[]) =>
  `device_id IN (${deviceIds.map((_, index) => `$${index + 1}`).join(', ')}) AND received_at IS NOT NULL`

async function eraseFrom(questdb: QuestdbSql, table: Table, deviceIds: readonly string[]): Promise<number> {
  let erased = 0
  // Day by day, which is how the table is partitioned: each statement rewrites one partition.
  for (const { dayMs: startMs, held } of await daysOf(questdb, table, deviceIds)) {
    const [from, to] = [`$${deviceIds.length + 1}`, `$${deviceIds.length + 2}`]
    // A dwell without values would still be a dwell.
    const extra = table.name === 'dwell' ? { column: ', withdrawn', value: ', true' } : { column: '', value: '' }
    await questdb.query(
      `INSERT INTO ${table.name} (ts, device_id, org_id${extra.column})
       SELECT ts, device_id, org_id${extra.value} FROM ${table.name}
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
