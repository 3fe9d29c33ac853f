import type { QuestdbSql } from '#questdb/server/sql'
import { kinds } from '#telemetry/report/fields'
import { keyOf, tables } from '#telemetry/rows/tables'

/** Counts the rows of the telemetry tables and their distinct keys: time, device, and modem or interface. */
export async function countRows(questdb: QuestdbSql): Promise<{ rows: number; distinct: number }> {
  let rows = 0
  let distinct = 0
  for (const table of kinds) {
    await questdb.query(`SELECT wait_wal_table('${table}')`)
    const [all] = await questdb.query<{ found: string }>(`SELECT count() AS found FROM ${table}`)
    const [apart] = await questdb.query<{ found: string }>(
      `SELECT count() AS found FROM (SELECT DISTINCT ${keyOf(tables[table]).join(', ')} FROM ${table})`,
    )
    rows += Number(all?.found)
    distinct += Number(apart?.found)
  }
  return { rows, distinct }
}

/** Returns the sample metrics of ingest from `/metrics`, without the prefix `telemetry_`. */
export async function figuresOf(ingestUrl: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${ingestUrl}/metrics`)).text()
  const lines = text.matchAll(/^telemetry_([a-z_]+)(?:\{[^}]*\})? (\S+)$/gm)
  return Object.fromEntries([...lines].map(([, name = '', value]) => [name, Number(value)]))
}
