import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
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
import { openKafkaLog } from '#telemetry-log/kafka/kafka-log'
import { type AppProcess, startAppProcess } from '#test/app-process'
import { childEnvironment } from '#test/child-environment'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { startTestKafka, type TestKafka, whyNoKafka } from '#test/kafka'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { storeRows } from '#test/telemetry-rows'
import { until } from '#test/until'

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
const problem = await whyNoKafka()
const tsMs = Date.now() - 30 * 60_000
const waitMs = 90_000

describe('replaying the dead letters of a writer', () => {
  let kafka: TestKafka
  let database: TestDatabase
  let pool: OwnedPool
  let questdb: QuestdbSql
  let device: ReportingDevice
  let folder: string
  let topics = 0
  beforeAll(async () => {
    if (problem) return
    kafka = await startTestKafka()
    database = await createTestDatabase()
    pool = openPool(database.url, { applicationName: 'test' })
    questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
  }, 180_000)
  beforeEach(async ({ skip }) => {
    skip(problem !== undefined, problem)
    topics += 1
    const [fresh] = await newReportingDevices(pool, await newOrganization(pool), 1)
    if (fresh) device = fresh
    folder = mkdtempSync(join(tmpdir(), 'writer-replay-'))
    return () => rmSync(folder, { recursive: true })
  })
  afterAll(async () => {
    await kafka?.stop()
    await pool?.end()
    await questdb?.end()
    await database?.drop()
  }, 60_000)

  /** A topic and a group of its own for each test. */
  const environment = () => {
    const { httpUrl, pgUrl, user, password } = questdbConnection()
    return {
      KAFKA_BROKERS: kafka.broker,
      KAFKA_PARTITIONS: '3',
      KAFKA_TOPIC: `replayed-${topics}`,
      KAFKA_GROUP: `writers-${topics}`,
      POSTGRES_URL: database.url,
      QUESTDB_URL: httpUrl,
      QUESTDB_PG_URL: pgUrl,
      QUESTDB_USER: user,
      QUESTDB_PASSWORD: password,
      WRITER_DIR: folder,
      LOG_LEVEL: 'warn',
    }
  }

  function startReplay(...flags: string[]) {
    const script = path('apps/writer/replay-dead-letters.ts')
    const child = spawn(path('node_modules/.bin/node'), [script, ...flags], {
      env: { ...childEnvironment, ...environment() },
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    return { output: () => output, ended: once(child, 'close').then(([code]) => code as number | null) }
  }

  async function replay(...flags: string[]) {
    const started = startReplay(...flags)
    return { code: await started.ended, output: started.output() }
  }

  async function startWriter(): Promise<AppProcess> {
    const writer = await startAppProcess('apps/writer/main.ts', environment())
    const isReady = () => fetch(`${writer.url}/readyz`).then(({ ok }) => ok)
    await until('the writer is ready', isReady, waitMs)
    return writer
  }

  type Row = { cpuPct: number; receivedAtMs: number; deviceId?: string; atMs?: number }

  function rowLetter({ cpuPct, receivedAtMs, deviceId = device.id, atMs = tsMs }: Row): DeadLetter {
    const encoder = createRowEncoder(tables.system)
    const { organizationId } = device
    encoder.append({ tsMs: atMs, cpuPct } as { tsMs: number }, { deviceId, organizationId, receivedAtMs })
    return { at: '', reason: '', table: 'system', key: '', row: encoder.take().bytes.toString('base64') }
  }

  function batchOf(receivedAtMs: number, samples: readonly object[]) {
    const { id: deviceId, organizationId } = device
    const body = Buffer.from(JSON.stringify({ samples }))
    const about = { deviceClass: 'vehicle', format: 'json', oldestTsMs: 0 } as const
    return { deviceId, organizationId, receivedAtMs, sampleCount: samples.length, body, ...about }
  }

  const system = (atMs: number, cpuPct: number) => ({ kind: 'system', ts: atMs, cpuPct, firmware: `v${cpuPct}` })
  const keep = (letters: readonly DeadLetter[]) => appendDeadLetters({ logFolder: folder, partition: 2 }, tsMs, letters)
  const reportLetter = (receivedAtMs: number, samples: readonly object[]) =>
    deadReportOf(batchOf(receivedAtMs, samples), 'failed three times', tsMs)

  const storeNow = (cpuPct: number, receivedAtMs: number, atMs = tsMs) =>
    storeRows(questdb, 'system', [
      { tsMs: atMs, receivedAtMs, deviceId: device.id, organizationId: device.organizationId, cpuPct },
    ])

  async function cpuPcts(): Promise<(number | null)[]> {
    await questdb.query("SELECT wait_wal_table('system')")
    const rows = await questdb.query<{ cpu_pct: number | null }>(
      'SELECT cpu_pct FROM system WHERE device_id = $1 ORDER BY ts',
      [device.id],
    )
    return rows.map(({ cpu_pct }) => cpu_pct)
  }

  const letterFiles = () => (existsSync(deadLetterFolder(folder)) ? readdirSync(deadLetterFolder(folder)) : [])

  test('rows and reports are stored, but never over a newer row or an erased one', async () => {
    await storeNow(9, tsMs + 50)
    keep([
      rowLetter({ cpuPct: 1, receivedAtMs: tsMs + 10 }),
      rowLetter({ cpuPct: 3, receivedAtMs: tsMs + 30, atMs: tsMs + 1 }),
      rowLetter({ cpuPct: 2, receivedAtMs: tsMs + 20, atMs: tsMs + 1 }),
      reportLetter(tsMs + 20, [system(tsMs + 1, 4), system(tsMs + 2, 5)]),
      reportLetter(tsMs + 10, [system(tsMs, 6), system(tsMs + 2, 7), system(tsMs + 3, 8)]),
    ])
    const { code, output } = await replay()
    expect(output).toContain('Stored: 1 rows. Stored as a writer does: 2 reports.')
    expect(output).toContain('2 older than what is stored')
    expect(code).toBe(0)
    expect(await cpuPcts()).toEqual([9, 3, 5, 8])
    expect(letterFiles()).toEqual([])
    // The device's newest sample says what runs on it.
    const { rows } = await pool.query('SELECT firmware FROM device WHERE id = $1', [device.id])
    expect(rows).toEqual([{ firmware: 'v8' }])

    await eraseTelemetry(questdb, [device.id])
    keep([
      rowLetter({ cpuPct: 1, receivedAtMs: tsMs + 100 }),
      reportLetter(tsMs + 100, [system(tsMs + 1, 2)]),
      rowLetter({ cpuPct: 2, receivedAtMs: tsMs, deviceId: newId() }),
    ])
    const again = await replay('--forget-deleted')
    expect(again.output).toContain('1 erased')
    expect(again.code).toBe(0)
    expect(new Set(await cpuPcts())).toEqual(new Set([null]))
    expect(letterFiles()).toEqual([])
  }, 180_000)

  test('a replayed fix places the RF samples around it, and its dwell is announced', async () => {
    const { id: deviceId, organizationId } = device
    const minute = (count: number) => tsMs + count * 60_000
    const rf = (atMs: number) => ({ tsMs: atMs, receivedAtMs: atMs, deviceId, organizationId, alignment: 'none' })
    await storeRows(questdb, 'cellular', [rf(minute(1)), rf(minute(4))])
    const fix = (count: number) => ({ kind: 'location', ts: minute(count), lat: 50, lon: 8, accuracyM: 5 })
    keep([reportLetter(minute(7), [fix(0), fix(1), fix(2), fix(3), fix(4), fix(5), fix(6)])])
    expect((await replay()).code).toBe(0)
    await questdb.query("SELECT wait_wal_table('cellular')")
    const rows = await questdb.query<{ aligned_lat: number | null }>(
      'SELECT aligned_lat FROM cellular WHERE device_id = $1 ORDER BY ts',
      [deviceId],
    )
    expect(rows).toEqual([{ aligned_lat: 50 }, { aligned_lat: 50 }])
    const told = await pool.query("SELECT FROM outbox_event WHERE organization_id = $1 AND type = 'dwell.started'", [
      organizationId,
    ])
    expect(told.rowCount).toBe(1)
  }, 180_000)

  test('it waits for the writers to stop, and newer reports that wait in the topic replace what it stores', async () => {
    const writer = await startWriter()
    const settings = {
      brokers: [kafka.broker],
      topic: `replayed-${topics}`,
      partitions: 3,
      retentionMs: 3_600_000,
      tls: undefined,
      sasl: undefined,
    }
    keep([reportLetter(tsMs + 10, [system(tsMs, 1), system(tsMs + 1, 2)])])
    const replaying = startReplay()
    await until('it waits', async () => replaying.output().includes('Waiting'), waitMs)
    expect(await cpuPcts()).toEqual([])
    await writer.stop()
    const log = openKafkaLog(settings)
    await log.append(batchOf(tsMs + 20, [system(tsMs, 3)]))
    await log.close()
    expect(await replaying.ended).toBe(0)
    expect((await cpuPcts()).at(-1)).toBe(2)
    const next = await startWriter()
    await until('the topic is stored', async () => (await cpuPcts())[0] === 3, waitMs)
    expect(await cpuPcts()).toEqual([3, 2])
    await next.stop()
  }, 240_000)
})
