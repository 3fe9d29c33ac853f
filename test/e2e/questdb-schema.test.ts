import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { applySchema } from '#questdb/schema'
import { openQuestdbSql, type QuestdbSql } from '#questdb/sql'
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
  } finally {
    await Promise.all(connections.map((questdb) => questdb.end()))
    await engine.stop()
    await rm(dir, { recursive: true, force: true })
  }
}, 180_000)
