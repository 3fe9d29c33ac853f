import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { type AppProcess, startAppProcess } from '#test/app-process'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { whyNoKafka } from '#test/kafka'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices } from '#test/reporting-device'
import { type SecuredKafka, startSecuredKafka } from '#test/secured-kafka'
import { until } from '#test/until'

const problem = await whyNoKafka()
const waitMs = 90_000

describe('Kafka with TLS and SASL', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  const folder = mkdtempSync(join(tmpdir(), 'routerfleet-kafka-security-'))
  let kafka: SecuredKafka
  let database: TestDatabase
  let pool: OwnedPool
  let questdb: QuestdbSql
  let folders = 0

  beforeAll(async () => {
    if (problem) return
    kafka = await startSecuredKafka()
    database = await createTestDatabase()
    pool = openPool(database.url, { applicationName: 'test' })
    questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
  }, 180_000)
  afterAll(async () => {
    await kafka?.stop()
    await pool?.end()
    await questdb?.end()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  }, 60_000)

  type Settings = Record<string, string>
  const settingsOf = (changes: Settings = {}): Settings => ({
    KAFKA_BROKERS: kafka.broker,
    KAFKA_PARTITIONS: '2',
    KAFKA_TLS_CA_FILE: kafka.caFile,
    KAFKA_SASL_USERNAME: kafka.username,
    KAFKA_SASL_PASSWORD: kafka.password,
    ...changes,
  })

  type Apps = { ingest: IngestProcess; writer: AppProcess; stop(): Promise<void> }

  /** Starts both apps that use Kafka. */
  async function startApps(settings: Settings): Promise<Apps> {
    const { httpUrl, pgUrl, user, password } = questdbConnection()
    folders += 1
    const [ingest, writer] = await Promise.all([
      startIngestProcess({
        postgresUrl: database.url,
        questdb: questdbConnection(),
        logDir: join(folder, `ingest-${folders}`),
        environment: settings,
      }),
      startAppProcess('apps/writer/main.ts', {
        ...settings,
        POSTGRES_URL: database.url,
        QUESTDB_URL: httpUrl,
        QUESTDB_PG_URL: pgUrl,
        QUESTDB_USER: user,
        QUESTDB_PASSWORD: password,
        WRITER_DIR: join(folder, `writer-${folders}`),
        LOG_LEVEL: 'warn',
      }),
    ])
    return {
      ingest,
      writer,
      async stop() {
        await Promise.all([ingest.end('SIGTERM'), writer.stop()])
      },
    }
  }

  async function readinessOf(url: string): Promise<{ status: number; reasons: Settings }> {
    const answer = await fetch(`${url}/readyz`)
    const { reasons = {} } = (await answer.json()) as { reasons?: Settings }
    return { status: answer.status, reasons }
  }

  async function send(url: string, token: string): Promise<{ status: number; code: string | undefined }> {
    const answer = await fetch(`${url}/telemetry`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ samples: [{ kind: 'system', ts: Date.now(), cpuPct: 7 }] }),
    })
    const { code } = (await answer.json()) as { code?: string }
    return { status: answer.status, code }
  }

  const newDevice = async () => {
    const [device] = await newReportingDevices(pool, await newOrganization(pool), 1)
    if (!device) throw new Error('No device was made.')
    return device
  }

  test.each(['SCRAM-SHA-512', 'SCRAM-SHA-256', 'PLAIN'])(
    'with %s, ingest accepts reports and the writer stores them',
    async (mechanism) => {
      const apps = await startApps(settingsOf({ KAFKA_SASL_MECHANISM: mechanism }))
      for (const { url } of [apps.ingest, apps.writer])
        await until('it is ready', async () => (await readinessOf(url)).status === 200, waitMs)
      const device = await newDevice()
      expect(await send(apps.ingest.url, device.token)).toMatchObject({ status: 202 })
      await until(
        'the report is stored',
        async () => (await questdb.query('SELECT ts FROM system WHERE device_id = $1', [device.id])).length === 1,
        waitMs,
      )
      await apps.stop()
    },
    240_000,
  )

  test.each([
    {
      what: 'a wrong password',
      changes: { KAFKA_SASL_PASSWORD: 'wrong' },
      reason: 'Kafka rejects the user name or the password.',
      advice: 'Check KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD.',
    },
    {
      what: 'a wrong password with PLAIN',
      changes: { KAFKA_SASL_PASSWORD: 'wrong', KAFKA_SASL_MECHANISM: 'PLAIN' },
      reason: 'Kafka rejects the user name or the password.',
      advice: 'Check KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD.',
    },
    {
      what: 'a certificate of an unknown authority',
      changes: { KAFKA_TLS_CA_FILE: '', KAFKA_TLS: 'true' },
      reason: 'The certificate of a Kafka broker is not trusted.',
      advice: 'Check KAFKA_TLS_CA_FILE.',
    },
    {
      what: 'no TLS',
      changes: { KAFKA_TLS_CA_FILE: '' },
      reason: 'Kafka ended the connection before the login.',
      advice: 'Check whether it requires TLS, with KAFKA_TLS.',
    },
    {
      what: 'neither TLS nor a user name',
      changes: { KAFKA_TLS_CA_FILE: '', KAFKA_SASL_USERNAME: '' },
      reason: 'Kafka requires TLS.',
      advice: 'Set KAFKA_TLS=true.',
    },
  ])(
    'after a start with $what, the log and /readyz say so',
    async ({ changes, reason, advice }) => {
      const apps = await startApps(settingsOf(changes))
      await until('ingest knows why', async () => apps.ingest.output().includes(advice), waitMs)
      await until('the writer knows why', async () => apps.writer.output().includes(advice), waitMs)
      expect(apps.ingest.output() + apps.writer.output()).not.toContain(kafka.password)
      const expected = (check: string) => ({ status: 503, reasons: { [check]: reason } })
      expect(await readinessOf(apps.ingest.url)).toEqual(expected('telemetry-log'))
      expect(await readinessOf(apps.writer.url)).toEqual(expected('kafka'))
      const device = await newDevice()
      expect(await send(apps.ingest.url, device.token)).toEqual({ status: 503, code: 'backlog_full' })
      await apps.stop()
    },
    240_000,
  )
})
