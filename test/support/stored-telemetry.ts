import type { QuestdbSql } from '#questdb/server/sql'

const tables = ['cellular', 'connection', 'location', 'system'] as const

/** Counts the rows of the telemetry tables and their distinct (time, device) keys. */
export async function countRows(questdb: QuestdbSql): Promise<{ rows: number; distinct: number }> {
  let rows = 0
  let distinct = 0
  for (const table of tables) {
    await questdb.query(`SELECT wait_wal_table('${table}')`)
    const [all] = await questdb.query<{ found: string }>(`SELECT count() AS found FROM ${table}`)
    const [apart] = await questdb.query<{ found: string }>(
      `SELECT count() AS found FROM (SELECT DISTINCT ts, device_id FROM ${table})`,
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
