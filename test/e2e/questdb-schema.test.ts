import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { applySchema } from '#questdb/schema'
import { openQuestdbSql, type QuestdbSql } from '#questdb/sql'
import { paceViews } from '#questdb/view-pace'
import { createUntilAvailable } from '#telemetry-writer/until-available'
import { startQuestdb } from '../../apps/stack/engines/questdb.ts'

test('several processes apply the schema to a new QuestDB at the same time', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-schema-'))
  const engine = await startQuestdb({ dir, cacheDir: '.cache', javaHome: process.env.JAVA_HOME })
  const connections = Array.from({ length: 4 }, () =>
    openQuestdbSql(engine.pgUrl, { applicationName: 'test', maxConnections: 1 }),
  )
  try {
    const dropped: string[] = []
    const watched = connections.map(
      (questdb): QuestdbSql => ({
        ...questdb,
        query(text, ...rest) {
          if (text.startsWith('DROP')) dropped.push(text)
          return questdb.query(text, ...rest)
        },
      }),
    )
    const untilAvailable = createUntilAvailable(new AbortController().signal, () => {})
    await Promise.all(watched.map((questdb) => untilAvailable(() => applySchema(questdb, { ttlDays: 30 }))))
    expect(dropped).toEqual([])
    const found = await connections[0]?.query<{ view_name: string }>('SELECT view_name FROM materialized_views()')
    expect(found?.map(({ view_name: name }) => name).sort()).toEqual([
      'coverage_1h',
      'coverage_device_1h',
      'coverage_vote_1m',
    ])
    const [questdb] = connections
    if (questdb) await expectPacedViews(questdb)
  } finally {
    await Promise.all(connections.map((questdb) => questdb.end()))
    await engine.stop()
    await rm(dir, { recursive: true, force: true })
  }
}, 180_000)

/** A view that was refreshed rarely is refreshed each minute again when its refreshes are short. */
async function expectPacedViews(questdb: QuestdbSql): Promise<void> {
  const periods = async () => {
    const rows = await questdb.query<{
      view_name: string
      timer_interval: number
      timer_start: number
      status: string
    }>('SELECT view_name, timer_interval, timer_start, view_status status FROM materialized_views() ORDER BY view_name')
    return rows.map((row) => `${row.view_name} ${row.timer_interval} ${row.timer_start % 60_000} ${row.status}`)
  }
  const hourly = (minutes: number) => [
    `coverage_1h ${minutes} 20000 valid`,
    'coverage_device_1h 1 20000 valid',
    'coverage_vote_1m 1 0 valid',
  ]
  expect(await periods()).toEqual(hourly(1))
  await questdb.query("ALTER MATERIALIZED VIEW coverage_1h SET REFRESH EVERY 5m START '2026-01-01T00:00:20.000000Z';")
  await questdb.query('REFRESH MATERIALIZED VIEW coverage_1h FULL')
  for (const minutes of [2, 1, 1]) {
    await vi.waitFor(async () => {
      await paceViews(questdb)
      expect(await periods()).toEqual(hourly(minutes))
    }, 20_000)
  }
}
