import { glob, mkdtemp, rename, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cellToParent, latLngToCell } from 'h3-js'
import { expect, test, vi } from 'vitest'
import { newId } from '#core/ids'
import { createFirstRefreshes } from '#questdb/schema/first-refreshes'
import { applySchema, hasSchema } from '#questdb/schema/schema'
import { paceViews } from '#questdb/schema/view-pace'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { longOfH3 } from '#questdb/votes/h3-index'
import { createTableSql, tables } from '#telemetry/rows/tables'
import { createUntilAvailable } from '#telemetry-writer/store/until-available'
import { shortLivedQuestdb } from '#test/short-lived-questdb'
import { applied, storeRows } from '#test/telemetry-rows'
import { startQuestdb } from '../../apps/stack/engines/questdb.ts'

test('several processes apply the schema to a new QuestDB at the same time', async () => {
  await withQuestdb(async ({ connections }) => {
    const dropped: string[] = []
    const watched = connections.map((questdb) => withStatementsIn(dropped, 'DROP', questdb))
    const untilAvailable = createUntilAvailable(new AbortController().signal, () => {})
    await Promise.all(watched.map((questdb) => untilAvailable(() => applySchema(questdb, { ttlDays: 30 }))))
    expect(dropped).toEqual([])
    await expectPacedViews(connections[0])
  })
}, 180_000)

test('only a view whose query changed is rebuilt, with those that depend on it', async () => {
  await withQuestdb(async ({ connections: [questdb], dir }) => {
    await applySchema(questdb, { ttlDays: 30 })
    // A change of a table, even to what it is, can lose the table if QuestDB is killed meanwhile.
    const altered: string[] = []
    const altering = withStatementsIn(altered, 'ALTER', questdb)
    await applySchema(altering, { ttlDays: 30 })
    expect(altered).toEqual([])
    for (const _ of [1, 2]) {
      await applySchema(altering, { ttlDays: 7 })
      await expectRetention(questdb, 7)
    }
    expect(altered).toEqual(Object.keys(tables).map((table) => `ALTER TABLE ${table} SET TTL 7 DAYS`))
    await applySchema(altering, { ttlDays: 30 })
    const dropped: string[] = []
    const watched = withStatementsIn(dropped, 'DROP', questdb)
    await applySchema(watched, { ttlDays: 7 })
    expect(dropped).toEqual([])

    // As while QuestDB writes it: materialized_views() leaves out the view.
    const states = await vi.waitFor(async () => {
      const found = await Array.fromAsync(glob(join(dir, '**/coverage_vote_1m~*/_mv.s')))
      expect(found).toHaveLength(1)
      return found
    }, 20_000)
    await vi.waitFor(async () => {
      for (const path of states) await truncate(path)
      const known = await questdb.query<{ view_name: string }>('SELECT view_name FROM materialized_views()')
      expect(known.map((row) => row.view_name).sort()).toEqual([
        'coverage_1h',
        'coverage_device_1h',
        'coverage_moment_1h',
      ])
    })
    await applySchema(watched, { ttlDays: 30 })
    expect(dropped).toEqual([])

    await questdb.query('DROP MATERIALIZED VIEW coverage_1h')
    await questdb.query(
      `CREATE MATERIALIZED VIEW coverage_1h WITH BASE coverage_vote_1m REFRESH EVERY 1m START '2026-01-01T00:00:20.000000Z'
       AS (SELECT ts, org_id, count() votes FROM coverage_vote_1m SAMPLE BY 1h) PARTITION BY DAY`,
    )
    await applySchema(watched, { ttlDays: 30 })
    expect(dropped).toEqual([
      'DROP MATERIALIZED VIEW IF EXISTS coverage_moment_1h',
      'DROP MATERIALIZED VIEW IF EXISTS coverage_device_1h',
      'DROP MATERIALIZED VIEW IF EXISTS coverage_1h',
    ])
    const columns = await questdb.query<{ column: string }>('SHOW COLUMNS FROM coverage_1h')
    expect(columns.map(({ column }) => column)).toContain('rsrp_bin')
  })
}, 180_000)

test('tables of a version that knew one modem keep their rows, and tell modems apart afterwards', async () => {
  await withQuestdb(async ({ connections: [questdb] }) => {
    const [deviceId, organizationId] = [newId(), newId()]
    const added = new Set(['modem', 'simPlmn', 'lostPlmn'])
    for (const table of Object.values(tables)) {
      const columns = table.columns.filter(({ key }) => !added.has(key))
      await questdb.query(createTableSql({ ...table, columns, sourceColumns: [] }, 30))
    }
    const [startMs, rows] = [Date.now() - 60_000, 20]
    const ids = `'${deviceId}', '${organizationId}'`
    const timeOf = (row: number) => `'${new Date(startMs + row * 1_000).toISOString()}'`
    const insertOld = (table: string, column: string, value: string) => {
      const tuples = Array.from({ length: rows }, (_, row) => `(${timeOf(row)}, ${ids}, ${timeOf(row)}, ${value})`)
      return questdb.query(
        `INSERT INTO ${table} (ts, device_id, org_id, received_at, ${column}) VALUES ${tuples.join(', ')}`,
      )
    }
    const storeOld = async () => {
      await insertOld('cellular', 'rsrp_dbm', '-90')
      await insertOld('connection', 'interface', "'wwan0'")
    }
    await storeOld()
    // Ends at each statement that changes something, as a killed process does.
    let allowed = 0
    const isChange = (text: string) => /^(ALTER|CREATE|DROP)/.test(text)
    for (let isDone = false; !isDone; allowed++) {
      let changes = 0
      const killed: QuestdbSql = {
        ...questdb,
        query: async (text, ...rest) => {
          if (isChange(text) && changes++ > allowed) throw new Error('killed')
          return questdb.query(text, ...rest)
        },
      }
      isDone = await applySchema(killed, { ttlDays: 30 }).then(
        () => true,
        () => false,
      )
      expect(await hasSchema(questdb)).toBe(isDone)
    }
    expect(allowed).toBeGreaterThan(5)
    // The previous version may still run, and what the log has is stored again.
    await storeOld()
    const again = Array.from({ length: rows }, (_, row) => ({ tsMs: startMs + row * 1_000, deviceId, organizationId }))
    const modems = [null, 'wwan0', 'wwan1']
    for (const modem of modems) {
      await storeRows(
        questdb,
        'cellular',
        again.map((row) => ({ ...row, modem })),
      )
      await storeRows(
        questdb,
        'connection',
        again.map((row) => ({ ...row, modem, interface: 'wwan0' })),
      )
    }
    for (const table of ['cellular', 'connection']) {
      await applied(questdb, table)
      const counts = await questdb.query(`SELECT modem, count() AS rows FROM ${table} GROUP BY modem ORDER BY modem`)
      expect(counts).toEqual(modems.map((modem) => ({ modem, rows: String(rows) })))
    }
  })
}, 180_000)

test('a QuestDB that was killed while it replaced the metadata of a table starts with its rows', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-metadata-'))
  const withStarted = async (run: (questdb: QuestdbSql) => Promise<void>) => {
    const engine = await startQuestdb({ dir, ...shortLivedQuestdb })
    const questdb = openQuestdbSql(engine.pgUrl, { applicationName: 'test', maxConnections: 1 })
    try {
      await run(questdb)
    } finally {
      await questdb.end()
      await engine.stop()
    }
  }
  const sample = { tsMs: Date.now() - 5_000, deviceId: newId(), organizationId: newId(), uptimeS: 1 }
  await withStarted(async (questdb) => {
    await applySchema(questdb, { ttlDays: 30 })
    await storeRows(questdb, 'system', [sample])
    await applied(questdb, 'system')
  })
  const [metadata = ''] = await Array.fromAsync(glob(join(dir, '**/system~*/_meta')))
  await rename(metadata, `${metadata}.prev`)
  await withStarted(async (questdb) => {
    await applySchema(questdb, { ttlDays: 7 })
    await storeRows(questdb, 'system', [{ ...sample, tsMs: sample.tsMs + 1_000 }])
    await applied(questdb, 'system')
    expect(await questdb.query('SELECT uptime_s FROM system')).toHaveLength(2)
  })
  await rm(dir, { recursive: true, force: true })
}, 180_000)

test('the views of a new installation have rows soon after its first sample with a position', async () => {
  await withQuestdb(async ({ connections: [questdb] }) => {
    await applySchema(questdb, { ttlDays: 30 })
    const refreshed: string[] = []
    const watched = withStatementsIn(refreshed, 'REFRESH', questdb)
    const refreshFirst = createFirstRefreshes(watched)
    let nowMs = 0
    const sample = { tsMs: Date.now() - 5_000, deviceId: newId(), organizationId: newId(), rat: 'lte', rsrpDbm: -90 }
    await storeRows(questdb, 'cellular', [
      { ...sample, h3Res10: longOfH3(cell), h3Res5: longOfH3(cellToParent(cell, 5)) },
    ])
    const rowsOf = async (view: string) => (await questdb.query(`SELECT ts FROM ${view}`)).length
    await vi.waitFor(async () => {
      nowMs += 60_000
      await refreshFirst(nowMs)
      expect([await rowsOf('coverage_1h'), await rowsOf('coverage_device_1h')]).toEqual([1, 1])
    }, 20_000)

    refreshed.length = 0
    await storeRows(questdb, 'cellular', [{ ...sample, tsMs: Date.now() }])
    const refreshAfterRestart = createFirstRefreshes(watched)
    await refreshAfterRestart(nowMs)
    expect(refreshed).toEqual([])
  })
}, 180_000)

const cell = latLngToCell(48.1, 11.5, 10)

type Connections = [QuestdbSql, ...QuestdbSql[]]

async function withQuestdb(run: (questdb: { connections: Connections; dir: string }) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-schema-'))
  const engine = await startQuestdb({ dir, ...shortLivedQuestdb })
  const open = () => openQuestdbSql(engine.pgUrl, { applicationName: 'test', maxConnections: 1 })
  const connections: Connections = [open(), open(), open(), open()]
  try {
    await run({ connections, dir })
  } finally {
    await Promise.all(connections.map((questdb) => questdb.end()))
    await engine.stop()
    await rm(dir, { recursive: true, force: true })
  }
}

/** The same connection, which adds each statement that begins with this word to `statements`. */
const withStatementsIn = (statements: string[], word: string, questdb: QuestdbSql): QuestdbSql => ({
  ...questdb,
  query(text, ...rest) {
    if (text.startsWith(word)) statements.push(text)
    return questdb.query(text, ...rest)
  },
})

/** QuestDB applies a changed retention to a table later, like its rows, and returns the earlier one until then. */
async function expectRetention(questdb: QuestdbSql, days: number): Promise<void> {
  for (const table of Object.keys(tables)) await applied(questdb, table)
  await vi.waitFor(async () => {
    const rows = await questdb.query<{ name: string; ttlValue: number; ttlUnit: string }>(
      'SELECT table_name name, ttlValue, ttlUnit FROM tables()',
    )
    const known = rows
      .filter(({ name }) => name in tables)
      .map((row) => row.ttlValue * (row.ttlUnit === 'WEEK' ? 7 : 1))
    expect(known).toEqual(Object.keys(tables).map(() => days))
  }, 20_000)
}

/** A view that was refreshed rarely is refreshed each minute again when its refreshes are short. */
async function expectPacedViews(questdb: QuestdbSql): Promise<void> {
  const periods = async () => {
    const rows = await questdb.query<{ view_name: string; timer_interval: number; timer_start: number }>(
      'SELECT view_name, timer_interval, timer_start FROM materialized_views() ORDER BY view_name',
    )
    return rows.map((row) => `${row.view_name} ${row.timer_interval} ${row.timer_start % 60_000}`)
  }
  const hourly = (minutes: number) => [
    `coverage_1h ${minutes} 20000`,
    'coverage_device_1h 1 20000',
    'coverage_moment_1h 1 20000',
    'coverage_vote_1m 1 0',
  ]
  await vi.waitFor(async () => expect(await periods()).toEqual(hourly(1)), 20_000)
  await questdb.query("ALTER MATERIALIZED VIEW coverage_1h SET REFRESH EVERY 5m START '2026-01-01T00:00:20.000000Z';")
  await vi.waitFor(async () => expect(await periods()).toEqual(hourly(5)), 20_000)
  await questdb.query('REFRESH MATERIALIZED VIEW coverage_1h FULL')
  await vi.waitFor(async () => {
    await paceViews(questdb)
    expect(await periods()).toEqual(hourly(1))
  }, 20_000)
  await vi.waitFor(async () => {
    const states = await questdb.query<{ view_status: string }>('SELECT view_status FROM materialized_views()')
    expect(states.map((row) => row.view_status)).toEqual(['valid', 'valid', 'valid', 'valid'])
  }, 20_000)
}
