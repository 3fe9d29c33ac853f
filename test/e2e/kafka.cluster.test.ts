import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { type AppProcess, startAppProcess } from '#test/app-process'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { startTestKafka, type TestKafka, whyNoKafka } from '#test/kafka'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { until } from '#test/until'

const problem = await whyNoKafka()
const waitMs = 90_000

describe('ingest and writers over Kafka', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  const folder = mkdtempSync(join(tmpdir(), 'routerfleet-writers-'))
  let kafka: TestKafka
  let database: TestDatabase
  let pool: OwnedPool
  let questdb: QuestdbSql
  let ingest: IngestProcess
  const writers: AppProcess[] = []

  const kafkaEnvironment = () => ({ KAFKA_BROKERS: kafka.broker, KAFKA_PARTITIONS: '4' })

  async function startWriter(): Promise<AppProcess> {
    const { httpUrl, pgUrl, user, password } = questdbConnection()
    const writer = await startAppProcess('apps/writer/main.ts', {
      ...kafkaEnvironment(),
      POSTGRES_URL: database.url,
      QUESTDB_URL: httpUrl,
      QUESTDB_PG_URL: pgUrl,
      QUESTDB_USER: user,
      QUESTDB_PASSWORD: password,
      WRITER_DIR: join(folder, `writer-${writers.length}`),
      LOG_LEVEL: 'warn',
    })
    writers.push(writer)
    return writer
  }

  beforeAll(async () => {
    if (problem) return
    kafka = await startTestKafka()
    database = await createTestDatabase()
    pool = openPool(database.url, { applicationName: 'test' })
    questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
    ingest = await startIngestProcess({
      postgresUrl: database.url,
      questdb: questdbConnection(),
      logDir: join(folder, 'ingest'),
      environment: kafkaEnvironment(),
    })
  }, 180_000)
  afterAll(async () => {
    await ingest?.end('SIGTERM')
    await Promise.all(writers.map((writer) => writer.stop()))
    await kafka?.stop()
    await pool?.end()
    await questdb?.end()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  }, 120_000)

  const newDevices = async (count: number) => newReportingDevices(pool, await newOrganization(pool), count)

  /** Sends a report until it is accepted. Returns how often it was refused. */
  async function report(device: ReportingDevice, samples: readonly object[]): Promise<number> {
    let refused = 0
    await until(
      'the report is accepted',
      async () => {
        const answer = await fetch(`${ingest.url}/telemetry`, {
          method: 'POST',
          headers: { authorization: `Bearer ${device.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ samples }),
        })
        const body = await answer.json()
        if (answer.status === 202) return true
        expect([answer.status, body]).toEqual([503, expect.objectContaining({ code: 'backlog_full' })])
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        refused += 1
        return false
      },
      waitMs,
    )
    return refused
  }

  /** Returns the sum of a metric of all partitions and all running writers. */
  async function total(name: string): Promise<number> {
    const texts = await Promise.all(
      writers.map(({ url }) =>
        fetch(`${url}/metrics`).then(
          (answer) => answer.text(),
          () => '',
        ),
      ),
    )
    const lines = texts.flatMap((text) => text.split('\n')).filter((line) => line.startsWith(`${name}{`))
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  const isReady = ({ url }: AppProcess) =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )

  async function rowsOf(devices: readonly ReportingDevice[]): Promise<{ rows: number; distinct: number }> {
    const ids = devices.map(({ id }) => `'${id}'`).join(',')
    await questdb.query("SELECT wait_wal_table('system')")
    const [rows] = await questdb.query<{ found: string }>(
      `SELECT count() AS found FROM system WHERE device_id IN (${ids})`,
    )
    const [distinct] = await questdb.query<{ found: string }>(
      `SELECT count() AS found FROM (SELECT DISTINCT ts, device_id FROM system WHERE device_id IN (${ids}))`,
    )
    return { rows: Number(rows?.found), distinct: Number(distinct?.found) }
  }

  test('a report becomes rows, its device is updated and its dwell is announced', async () => {
    const writer = await startWriter()
    await until('the writer is ready', () => isReady(writer), waitMs)
    const [device] = await newDevices(1)
    if (!device) throw new Error('No device was made.')
    const startMs = Date.now() - 20 * 60_000
    const fix = (minute: number) => ({ kind: 'location', ts: startMs + minute * 60_000, lat: 50, lon: 8 })
    await report(device, [fix(0), fix(3), fix(6), { kind: 'system', ts: startMs, cpuPct: 5, firmware: '1.2.3' }])
    await until('it is stored', async () => (await rowsOf([device])).rows === 1, waitMs)
    await until(
      'Postgres has the firmware and the fix',
      async () => {
        const { rows } = await pool.query<{ firmware: string | null; seen: boolean }>(
          'SELECT firmware, last_seen_at IS NOT NULL AS seen FROM device WHERE id = $1',
          [device.id],
        )
        return rows[0]?.firmware === '1.2.3' && rows[0].seen
      },
      waitMs,
    )
    await until(
      'the dwell is announced',
      async () => {
        const { rows } = await pool.query<{ type: string }>(
          "SELECT type FROM outbox_event WHERE organization_id = $1 AND type = 'dwell.started'",
          [device.organizationId],
        )
        return rows.length === 1
      },
      waitMs,
    )
  }, 240_000)

  test('kill -9 of a writer and of the broker, and a graceful stop: accepted is stored, nothing is doubled', async () => {
    const devices = await newDevices(16)
    const [first] = writers
    const second = await startWriter()
    if (!first) throw new Error('No writer was started.')
    await until('both writers are ready', async () => (await isReady(first)) && (await isReady(second)), waitMs)
    let accepted = 0
    let refused = 0
    let isStopping = false
    const startMs = Date.now() - 60 * 60_000
    const load = devices.map(async (device) => {
      for (let index = 0; !isStopping; index++) {
        const samples = Array.from({ length: 5 }, (_, sample) => ({
          kind: 'system',
          ts: startMs + (index * 5 + sample) * 100,
          cpuPct: index % 100,
        }))
        refused += await report(device, samples)
        accepted += samples.length
        // Below the request limit of a device.
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
    })
    const afterMore = async (samples: number) => {
      const before = accepted
      await until('more is accepted', async () => accepted >= before + samples, waitMs)
    }
    await afterMore(400)
    await first.kill()
    await afterMore(400)
    const third = await startWriter()
    await kafka.kill()
    await kafka.restart()
    await afterMore(400)
    await second.stop()
    await afterMore(400)
    isStopping = true
    await Promise.all(load)
    expect(refused).toBeGreaterThan(0)
    await until('the remaining writer is ready', () => isReady(third), waitMs)
    await until('all is stored', async () => (await rowsOf(devices)).rows >= accepted, waitMs)
    expect(await rowsOf(devices)).toEqual({ rows: accepted, distinct: accepted })
    await until('nothing waits', async () => (await total('telemetry_log_lag_records')) === 0, waitMs)
    // The sample of the first test counts too. Copies after the crash of the broker count as replaced.
    const stored = await total('telemetry_samples_stored_total')
    expect(stored).toBe(accepted + 4)
    expect(await total('telemetry_samples_dead_lettered_total')).toBe(0)
  }, 420_000)
})
