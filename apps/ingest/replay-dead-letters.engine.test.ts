import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { eraseTelemetry } from '#questdb/writer/erasure'
import { createRowEncoder } from '#telemetry/rows/ilp'
import { tables } from '#telemetry/rows/tables'
import {
  appendDeadLetters,
  type DeadLetter,
  deadLetterFolder,
  deadReportOf,
} from '#telemetry-log/dead-letters/dead-letters'
import { openPartitionedLog } from '#telemetry-log/segments/partitioned-log'
import { childEnvironment } from '#test/child-environment'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { startIngestProcess } from '#test/ingest-process'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { storeRows } from '#test/telemetry-rows'
import { until } from '#test/until'

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const tsMs = Date.now() - 60_000

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let device: ReportingDevice
let folder: string
beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
beforeEach(async () => {
  const [fresh] = await newReportingDevices(pool, await newOrganization(pool), 1)
  if (fresh) device = fresh
  folder = mkdtempSync(join(tmpdir(), 'replay-'))
  return () => rmSync(folder, { recursive: true })
})
afterAll(async () => {
  await Promise.all([pool.end(), questdb.end()])
  await database.drop()
})

type Row = { cpuPct: number; receivedAtMs: number; deviceId?: string; atMs?: number }

function rowLetter({ cpuPct, receivedAtMs, deviceId = device.id, atMs = tsMs }: Row): DeadLetter {
  const encoder = createRowEncoder(tables.system)
  // A member with a space in it, and binary bytes that look like the end of a line.
  encoder.append({ tsMs: atMs, cpuPct, firmware: 'a b\n1t' } as { tsMs: number }, {
    deviceId,
    organizationId: device.organizationId,
    receivedAtMs,
  })
  return { at: '', reason: '', table: 'system', key: '', row: encoder.take().bytes.toString('base64') }
}

const storeNow = (cpuPct: number, receivedAtMs: number, atMs = tsMs) =>
  storeRows(questdb, 'system', [
    { tsMs: atMs, receivedAtMs, deviceId: device.id, organizationId: device.organizationId, cpuPct },
  ])

type Replay = { output: () => string; ended: Promise<number | null> }

function startReplay(...flags: string[]): Replay {
  const { httpUrl, pgUrl, user, password } = questdbConnection()
  const child = spawn(path('node_modules/.bin/node'), [path('apps/ingest/replay-dead-letters.ts'), ...flags], {
    env: {
      ...childEnvironment,
      LOG_DIR: folder,
      POSTGRES_URL: database.url,
      QUESTDB_URL: httpUrl,
      QUESTDB_PG_URL: pgUrl,
      QUESTDB_USER: user,
      QUESTDB_PASSWORD: password,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return { output: () => output, ended: once(child, 'close').then(([code]) => code as number | null) }
}

async function replay(...flags: string[]): Promise<{ code: number | null; output: string }> {
  const started = startReplay(...flags)
  return { code: await started.ended, output: started.output() }
}

async function cpuPcts(): Promise<(number | null)[]> {
  await questdb.query("SELECT wait_wal_table('system')")
  const rows = await questdb.query<{ cpu_pct: number | null }>(
    'SELECT cpu_pct FROM system WHERE device_id = $1 ORDER BY ts',
    [device.id],
  )
  return rows.map(({ cpu_pct }) => cpu_pct)
}

const letterFiles = () => (existsSync(deadLetterFolder(folder)) ? readdirSync(deadLetterFolder(folder)) : [])

test('a row that is missing or older is stored, and its letter leaves the folder', async () => {
  await storeNow(1, tsMs, tsMs + 1)
  appendDeadLetters({ logFolder: folder, partition: 0 }, tsMs, [
    rowLetter({ cpuPct: 5, receivedAtMs: tsMs + 10 }),
    rowLetter({ cpuPct: 6, receivedAtMs: tsMs + 10, atMs: tsMs + 1 }),
  ])
  const { code, output } = await replay()
  expect(output).toContain('Stored: 2 rows.')
  expect(code).toBe(0)
  expect(await cpuPcts()).toEqual([5, 6])
  expect(letterFiles()).toEqual([])
})

test('an older row never replaces a stored row, in any order of the letters', async () => {
  await storeNow(9, tsMs + 50)
  appendDeadLetters({ logFolder: folder, partition: 0 }, tsMs, [
    rowLetter({ cpuPct: 1, receivedAtMs: tsMs + 10 }),
    rowLetter({ cpuPct: 3, receivedAtMs: tsMs + 30, atMs: tsMs + 1 }),
    rowLetter({ cpuPct: 2, receivedAtMs: tsMs + 20, atMs: tsMs + 1 }),
  ])
  const { code, output } = await replay()
  expect(output).toContain('Stored: 1 rows.')
  expect(output).toContain('2 older than what is stored')
  expect(code).toBe(0)
  expect(await cpuPcts()).toEqual([9, 3])
})

test('does not restore erased rows or rows of deleted devices', async () => {
  await storeNow(9, tsMs - 50)
  await eraseTelemetry(questdb, [device.id])
  const deletedId = newId()
  appendDeadLetters({ logFolder: folder, partition: 0 }, tsMs, [
    rowLetter({ cpuPct: 1, receivedAtMs: tsMs }),
    rowLetter({ cpuPct: 2, receivedAtMs: tsMs, deviceId: deletedId }),
  ])
  const { code, output } = await replay()
  expect(output).toContain('1 erased')
  expect(output).toContain('1 of deleted devices')
  expect(output).toContain(`deleted: ${deletedId}`)
  expect(code).toBe(1)
  expect(await cpuPcts()).toEqual([null])
  expect(letterFiles()).toHaveLength(1)
  expect((await replay('--forget-deleted')).code).toBe(0)
  expect(letterFiles()).toEqual([])
  expect(await questdb.query('SELECT ts FROM system WHERE device_id = $1', [deletedId])).toEqual([])
})

test('keeps a row that is rejected again and a line that is not a letter', async () => {
  const bad = Buffer.from(
    `system,device_id=${device.id},org_id=o received_at=${tsMs}000t,cpu_pct="much" ${tsMs}000t\n`,
  ).toString('base64')
  appendDeadLetters({ logFolder: folder, partition: 0 }, tsMs, [
    { at: '', reason: '', table: 'system', key: 'the key', row: bad },
  ])
  const { code, output } = await replay()
  expect(output).toContain('1 refused')
  expect(output).toContain('the key: 400')
  expect(code).toBe(1)
  expect(letterFiles()).toHaveLength(1)
})

const startIngest = () =>
  startIngestProcess({ postgresUrl: database.url, questdb: questdbConnection(), logDir: folder })

function reportLetter(receivedAtMs: number, cpuPctByTs: Record<number, number>): DeadLetter {
  const samples = Object.entries(cpuPctByTs).map(([ts, cpuPct]) => ({ kind: 'system', ts: Number(ts), cpuPct }))
  const { id: deviceId, organizationId } = device
  const batch = { deviceId, organizationId, deviceClass: 'vehicle', receivedAtMs, oldestTsMs: 0 } as const
  const body = Buffer.from(JSON.stringify({ samples }))
  return deadReportOf({ ...batch, format: 'json', sampleCount: samples.length, body }, 'failed three times', tsMs)
}

test.each([1, 4])(
  'appends reports to a log with %i partitions without superseded samples, and the counts add up',
  async (partitions) => {
    await (await openPartitionedLog({ folder, partitions })).close()
    const place = { logFolder: folder, partition: partitions - 1 }
    await storeNow(9, tsMs + 50)
    const letters = [
      reportLetter(tsMs + 20, { [tsMs + 1]: 3, [tsMs + 2]: 4 }),
      reportLetter(tsMs + 10, { [tsMs]: 1, [tsMs + 1]: 2, [tsMs + 3]: 5 }),
    ]
    appendDeadLetters(place, tsMs, letters)
    const { code, output } = await replay()
    expect(output).toContain('Appended to the log: 2 reports.')
    expect(code).toBe(0)
    expect(letterFiles()).toEqual([])
    appendDeadLetters(place, tsMs, letters)
    expect((await replay()).output).toContain('Start ingest until telemetry_backlog_samples is 0')

    const ingest = await startIngest()
    const figures = await until(
      'the rest is stored',
      async () => {
        const text = await (await fetch(`${ingest.url}/metrics`)).text()
        const figure = (name: string) => Number(new RegExp(`^telemetry_${name} (\\S+)$`, 'm').exec(text)?.[1])
        return (
          figure('samples_stored_total') === 3 && {
            accepted: figure('samples_accepted_total'),
            backlog: figure('backlog_samples'),
          }
        )
      },
      60_000,
    )
    expect(figures).toEqual({ accepted: 3, backlog: 0 })
    expect(await cpuPcts()).toEqual([9, 3, 4, 5])
    expect(await ingest.end('SIGTERM')).toBe(0)
    // As after a crash between the append and the removal of the letters.
    expect((await replay()).output).toContain('Appended to the log: 0 reports.')
    expect(await cpuPcts()).toEqual([9, 3, 4, 5])
  },
  180_000,
)

test('waits for a running ingest to stop', async () => {
  appendDeadLetters({ logFolder: folder, partition: 0 }, tsMs, [rowLetter({ cpuPct: 5, receivedAtMs: tsMs })])
  const ingest = await startIngest()
  const replaying = startReplay()
  await until('it waits', async () => replaying.output().includes('Waiting'), 60_000)
  expect(await cpuPcts()).toEqual([])
  await ingest.end('SIGTERM')
  expect(await replaying.ended).toBe(0)
  expect(await cpuPcts()).toEqual([5])
}, 120_000)
