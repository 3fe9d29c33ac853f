import { mkdtempSync, rmSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { openKafkaEnds } from '#telemetry-log/kafka/kafka-ends'
import { openKafkaOffsets } from '#telemetry-log/kafka/kafka-offsets'
import type { KafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import { type AppProcess, runCommand, startAppProcess } from '#test/app-process'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { masterSecret } from '#test/ingest-process'
import { startTestKafka, type TestKafka, whyNoKafka } from '#test/kafka'
import { startTestCopy, type TestCopy } from '#test/questdb-copy'
import { newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { until } from '#test/until'

const problem = await whyNoKafka()
const waitMs = 120_000
/** The promise is 5 s. */
const changeWithinMs = 5_000
const partitions = 3

type Copy = { name: string; answers: boolean; lagS: number | null; isRead: boolean }

describe('two copies of QuestDB', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  const folder = mkdtempSync(join(tmpdir(), 'routerfleet-copies-'))
  let kafka: TestKafka
  let a: TestCopy
  let b: TestCopy
  let database: TestDatabase
  let ingest: AppProcess
  const writers = new Map<string, AppProcess>()
  let api: TestControlPlane
  /** Another one, which knows the writers of the first tests. */
  let withWriters: TestControlPlane
  let organization: { id: string; key: string }

  const environment = () => ({
    POSTGRES_URL: database.url,
    KAFKA_BROKERS: kafka.broker,
    KAFKA_PARTITIONS: String(partitions),
    QUESTDB_SERVERS: `${a.entry};${b.entry}`,
    WRITER_DIR: join(folder, 'writer'),
    CONFIG_SECRETS_KEY: masterSecret,
    LOG_DIR: join(folder, 'log'),
    LOG_LEVEL: 'warn',
  })
  async function startWriter(copy: TestCopy, servers = environment().QUESTDB_SERVERS): Promise<void> {
    const settings = { ...environment(), QUESTDB_SERVERS: servers, QUESTDB_COPY: copy.name }
    writers.set(copy.name, await startAppProcess('apps/writer/main.ts', settings))
  }

  beforeAll(async () => {
    if (problem) return
    ;[kafka, a, b, database] = await Promise.all([
      startTestKafka(),
      startTestCopy('a'),
      startTestCopy('b'),
      createTestDatabase(),
    ])
    ingest = await startAppProcess('apps/ingest/main.ts', environment())
    await Promise.all([startWriter(a), startWriter(b)])
    const settings = {
      POSTGRES_URL: database.url,
      QUESTDB_URL: '',
      QUESTDB_PG_URL: '',
      QUESTDB_SERVERS: environment().QUESTDB_SERVERS,
      INGEST_URL: ingest.url,
    }
    api = await startControlPlane(settings)
    const writerUrls = [...writers.values()].map(({ url }) => url).join(',')
    withWriters = await startControlPlane({ ...settings, WRITER_URL: writerUrls })
    organization = await api.newOrganization()
  }, 300_000)
  afterAll(async () => {
    await api?.close()
    await withWriters?.close()
    await Promise.all([ingest, ...writers.values()].map((app) => app?.stop()))
    await Promise.all([kafka?.stop(), a?.stop(), b?.stop()])
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  }, 120_000)

  const newDevices = (count: number) => newReportingDevices(api.services.pool, organization.id, count)

  /** Sends a report until it is accepted. */
  async function report(device: ReportingDevice, samples: readonly object[]): Promise<void> {
    await until(
      'the report is accepted',
      async () => {
        const answer = await fetch(`${ingest.url}/telemetry`, {
          method: 'POST',
          headers: { authorization: `Bearer ${device.token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ samples }),
        })
        await answer.arrayBuffer()
        return answer.status === 202
      },
      waitMs,
    )
  }
  const fix = (tsMs: number, lat: number) => ({ kind: 'location', ts: tsMs, lat, lon: 8, fix: '3d', accuracyM: 5 })
  const load = (tsMs: number, cpuPct: number) => ({ kind: 'system', ts: tsMs, cpuPct })

  async function rowsIn({ questdb }: TestCopy, devices: readonly ReportingDevice[]) {
    const ids = devices.map(({ id }) => `'${id}'`).join(',')
    const [rows] = await questdb.query<{ found: string }>(
      `SELECT count() found FROM system WHERE device_id IN (${ids})`,
    )
    const [distinct] = await questdb.query<{ found: string }>(
      `SELECT count() found FROM (SELECT DISTINCT ts, device_id FROM system WHERE device_id IN (${ids}))`,
    )
    return { rows: Number(rows?.found), distinct: Number(distinct?.found) }
  }
  const untilStored = (copy: TestCopy, devices: readonly ReportingDevice[], count: number) =>
    until(
      `copy ${copy.name} has ${count} rows`,
      async () => (await rowsIn(copy, devices).catch(() => ({ rows: 0 }))).rows >= count,
      waitMs,
    )

  async function states(): Promise<Copy[]> {
    const { body } = await api.call('GET', '/readyz')
    return body.copies
  }
  const untilState = (what: string, isThere: (a: Copy, b: Copy) => boolean) =>
    until(
      what,
      async () => {
        const [first, second] = await states()
        return first && second && isThere(first, second)
      },
      waitMs,
    )
  const isFresh = ({ answers, lagS }: Copy) => answers && lagS !== null && lagS < 15
  const untilFirstIsRead = () =>
    untilState('a is read, b is fresh', (one, other) => one.isRead && isFresh(one) && isFresh(other))

  /** The result of a check is shared by the requests of a moment, so it may be older than the list of copies. */
  const untilReady = () =>
    until('the service is ready', async () => {
      const ready = await api.call('GET', '/readyz')
      return ready.status === 200 && ready
    })

  /** Returns the samples of a copy by outcome, from the metrics at the address of the control plane. */
  async function accounts(copy: string): Promise<{ accepted: number; settled: number; waiting: number }> {
    const { body } = await withWriters.call('GET', '/metrics', { token: withWriters.platformKey })
    const sumOf = (name: string) => {
      const lines = String(body)
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`) && line.includes(`questdb="${copy}"`))
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    }
    const outcomes = ['stored', 'replaced', 'dead_lettered'].map((outcome) =>
      sumOf(`telemetry_samples_${outcome}_total`),
    )
    return {
      accepted: sumOf('telemetry_log_samples'),
      settled: outcomes.reduce((sum, count) => sum + count, 0),
      waiting: sumOf('telemetry_backlog_samples'),
    }
  }
  /** Waits until a copy has so many accepted samples. They are stored, replaced, in the dead letters or waiting at all times. */
  const untilAccounted = (copy: string, accepted: number, isThere: (figures: { waiting: number }) => boolean) =>
    until(
      `copy ${copy} accounts for ${accepted} samples`,
      async () => {
        const figures = await accounts(copy)
        expect(figures.settled + figures.waiting).toBe(figures.accepted)
        return figures.accepted === accepted && isThere(figures)
      },
      waitMs,
    )

  const topicSettings = (): KafkaSettings => ({
    brokers: [kafka.broker],
    topic: 'routerfleet.telemetry',
    partitions,
    retentionMs: 0,
    tls: undefined,
    sasl: undefined,
  })

  /** Whether the copies a and b have told Postgres about all reports of the topic. */
  async function everythingIsTold(): Promise<boolean> {
    const ends = openKafkaEnds(topicSettings())
    const end = await ends.read().finally(ends.close)
    const { rows } = await api.services.pool.query<{ told: string }>(
      "SELECT sum(told_position) AS told FROM copy_progress WHERE copy IN ('a', 'b') GROUP BY copy",
    )
    const reports = [...end.values()].reduce((sum, position) => sum + position, 0)
    return rows.length === 2 && rows.every(({ told }) => Number(told) >= reports)
  }

  const history = (device: ReportingDevice) =>
    api.call('GET', `/api/router/${device.id}/telemetry/history?kind=system`, { token: organization.key })
  const gps = () => api.call('GET', `/fleet/gps?orgId=${organization.id}`, { token: organization.key })
  const latitudes = async () => {
    const { status, body } = await gps()
    if (status !== 200) return undefined
    return Object.fromEntries(
      // biome-ignore lint/suspicious/noExplicitAny: the shape is what the test asserts.
      body.devices.map(({ deviceId, location }: any) => [deviceId, location?.lat]),
    ) as Record<string, number | undefined>
  }

  /** Reads again and again from the failure on. Returns the time until the first success and all items that were read. */
  async function readsAfter(failure: () => Promise<void> | void, device: ReportingDevice) {
    await failure()
    const startedMs = performance.now()
    await until('b is read', async () => (await states())[1]?.isRead, waitMs)
    const first = await until(
      'a read succeeds',
      async () => {
        const answer = await history(device)
        expect([200, 503]).toContain(answer.status)
        return answer.status === 200 && answer
      },
      waitMs,
    )
    return { tookMs: performance.now() - startedMs, items: first.body.items }
  }

  test('both store every report exactly once, and both are shown with their lag', async () => {
    const devices = await newDevices(12)
    const startMs = Date.now() - 60_000
    for (let round = 0; round < 5; round++) {
      await Promise.all(devices.map((device) => report(device, [load(startMs + round * 100, round)])))
    }
    for (const copy of [a, b]) {
      await untilStored(copy, devices, 60)
      expect(await rowsIn(copy, devices)).toEqual({ rows: 60, distinct: 60 })
    }
    await untilFirstIsRead()
    const ready = await untilReady()
    expect(ready.body.checks.questdb).toBe('ok')
    const { body: metrics } = await api.call('GET', '/metrics', { token: api.platformKey })
    expect(metrics).toMatch(/^questdb_copy_read\{questdb="a".*\} 1$/m)
    expect(metrics).toMatch(/^questdb_copy_read\{questdb="b".*\} 0$/m)
    expect(metrics).toMatch(/^questdb_copy_lag_seconds\{questdb="b".*\} \d/m)
    const ofWriter = await (await fetch(`${writers.get('b')?.url}/metrics`)).text()
    expect(ofWriter).toMatch(/^telemetry_log_lag_records\{.*questdb="b".*\} 0$/m)
    const accepted = /^telemetry_samples_accepted_total(?:\{.*\})? (\d+)$/m.exec(metrics)?.[1]
    for (const { name } of [a, b]) {
      await untilAccounted(name, Number(accepted), (figures) => figures.waiting === 0)
    }
  }, 300_000)

  test('kill -9 of the copy that is read: reads go on with the same rows, and go back when it has caught up', async () => {
    const devices = await newDevices(2)
    const [device, other] = devices
    if (!device || !other) throw new Error('No devices were made.')
    const startMs = Date.now() - 60_000
    await report(device, [load(startMs, 1), load(startMs + 1_000, 2), fix(startMs, 50)])
    await report(other, [load(startMs, 3)])
    for (const copy of [a, b]) await untilStored(copy, devices, 3)
    await untilFirstIsRead()
    const before = await history(device)
    expect(before.body.items).toHaveLength(2)
    expect((await latitudes())?.[device.id]).toBe(50)

    const { tookMs, items } = await readsAfter(() => a.kill(), device)
    expect(tookMs).toBeLessThan(changeWithinMs)
    expect(items).toEqual(before.body.items)
    expect((await latitudes())?.[device.id]).toBe(50)
    await untilReady()

    // Accepted while one copy is dead.
    await report(device, [load(startMs + 2_000, 4), fix(startMs + 30_000, 51)])
    await until('the map has the new fix', async () => (await latitudes())?.[device.id] === 51, waitMs)
    await a.restart()
    await untilStored(a, devices, 4)
    await untilFirstIsRead()
    expect((await history(device)).body.items).toHaveLength(3)
    expect((await latitudes())?.[device.id]).toBe(51)
    for (const copy of [a, b]) expect(await rowsIn(copy, devices)).toEqual({ rows: 4, distinct: 4 })
  }, 300_000)

  test('a frozen copy: reads that wait for it end, others go on, and it catches up afterwards', async ({
    onTestFinished,
  }) => {
    // Statements of the test to a frozen copy never end, so a failure here would become one of all tests behind it.
    onTestFinished(() => a.thaw())
    const [device] = await newDevices(1)
    if (!device) throw new Error('No device was made.')
    const startMs = Date.now() - 60_000
    await report(device, [load(startMs, 1)])
    for (const copy of [a, b]) await untilStored(copy, [device], 1)
    await untilFirstIsRead()
    let waiting: ReturnType<typeof history> | undefined
    const { tookMs, items } = await readsAfter(() => {
      a.freeze()
      waiting = history(device)
    }, device)
    expect(tookMs).toBeLessThan(changeWithinMs)
    expect(items).toHaveLength(1)
    const left = await waiting
    // A read that did not reach the frozen copy yet goes to the other one.
    expect([200, 503]).toContain(left?.status)
    if (left?.status === 503) expect(Number(left.headers.get('retry-after'))).toBeGreaterThan(0)
    const { accepted } = await accounts('b')
    await report(device, [load(startMs + 1_000, 2)])
    await untilStored(b, [device], 2)
    await untilAccounted('b', accepted + 1, ({ waiting }) => waiting === 0)
    await untilAccounted('a', accepted + 1, ({ waiting }) => waiting > 0)
    a.thaw()
    await untilStored(a, [device], 2)
    await untilFirstIsRead()
    expect(await rowsIn(a, [device])).toEqual({ rows: 2, distinct: 2 })
    await untilAccounted('a', accepted + 1, ({ waiting }) => waiting === 0)
  }, 300_000)

  test('no copy is fresh: /readyz says so, reads go on, and the map gets what is stored late', async () => {
    const [device] = await newDevices(1)
    if (!device) throw new Error('No device was made.')
    const startMs = Date.now() - 300_000
    await report(device, [fix(startMs, 50), load(startMs, 1)])
    await untilStored(a, [device], 1)
    await untilFirstIsRead()
    await until('the map has the device', async () => (await latitudes())?.[device.id] === 50, waitMs)
    await Promise.all([...writers.values()].map((writer) => writer.kill()))
    await report(device, [fix(startMs + 10_000, 51), load(startMs + 10_000, 2)])
    await until(
      'it is not ready',
      async () => (await api.call('GET', '/readyz')).body.checks.questdb === 'failed',
      waitMs,
    )
    const [lagging] = await states()
    expect(lagging?.lagS).toBeGreaterThanOrEqual(60)
    expect((await history(device)).status).toBe(200)
    expect((await latitudes())?.[device.id]).toBe(50)
    await Promise.all([startWriter(a), startWriter(b)])
    await untilFirstIsRead()
    await until('the map has what was stored late', async () => (await latitudes())?.[device.id] === 51, waitMs)
    await untilReady()
  }, 300_000)

  test('a new, empty copy is filled from the start of the topic, and does not bring back old states', async () => {
    const devices = await newDevices(1)
    const [device] = devices
    if (!device) throw new Error('No device was made.')
    const startMs = Date.now() - 60_000
    const firmwareOf = async () => {
      const { rows } = await api.services.pool.query('SELECT firmware FROM device WHERE id = $1', [device.id])
      return rows[0]?.firmware
    }
    for (const [index, firmware] of ['1.0', '2.0'].entries()) {
      await report(device, [{ ...load(startMs + index * 1_000, 1), firmware }])
      await until(`the firmware is ${firmware}`, async () => (await firmwareOf()) === firmware, waitMs)
    }
    // Each copy may tell a report that another one has told in the same second.
    await until('both copies have told Postgres everything', everythingIsTold, waitMs)
    for (const copy of [a, b]) expect(await rowsIn(copy, devices)).toMatchObject({ rows: 2 })
    // No change of the state is told while the new copy stores.
    await api.services.pool.query("UPDATE device SET firmware = 'kept' WHERE id = $1", [device.id])
    const c = await startTestCopy('c')
    try {
      await startWriter(c, `${environment().QUESTDB_SERVERS};${c.entry}`)
      const total = async ({ questdb }: TestCopy) =>
        Number((await questdb.query<{ found: string }>('SELECT count() found FROM system').catch(() => []))[0]?.found)
      await until('c has all rows', async () => (await total(c)) === (await total(a)), waitMs)
      expect(await rowsIn(c, devices)).toEqual({ rows: 2, distinct: 2 })
      await until(
        'c is not behind',
        async () => {
          const { rows } = await api.services.pool.query(
            "SELECT bool_and(stored_to > now() - interval '15 s') AS fresh FROM copy_progress WHERE copy = 'c'",
          )
          return rows[0]?.fresh === true
        },
        waitMs,
      )
      expect(await firmwareOf()).toBe('kept')
    } finally {
      await writers.get('c')?.stop()
      writers.delete('c')
      await c.stop()
    }
  }, 300_000)

  test('a copy from a backup begins at the offsets from before the backup and is complete', async () => {
    const devices = await newDevices(4)
    const startMs = Date.now() - 60_000
    const reportAll = (tsMs: number) => Promise.all(devices.map((device) => report(device, [load(tsMs, 1)])))
    await reportAll(startMs)
    await untilStored(a, devices, 4)
    const copyOffsets = () => runCommand('apps/writer/copy-offsets.ts', environment(), ['--from=a', '--to=d'])
    expect(await copyOffsets()).toContain(`writers.d begins where routerfleet.writers.a is, in ${partitions} of`)
    await expect(copyOffsets()).rejects.toThrow('has offsets already')
    const group = openKafkaOffsets(topicSettings(), 'routerfleet.writers.d')
    const committed = await Promise.all(Array.from({ length: partitions }, (_, index) => group.committed(index)))
    await group.close()
    expect(committed).not.toContain(undefined)

    await reportAll(startMs + 1_000)
    await untilStored(a, devices, 8)
    const d = await startTestCopy('d', async (folder) => {
      await a.questdb.query('CHECKPOINT CREATE')
      await cp(a.folder, folder, { recursive: true })
      await a.questdb.query('CHECKPOINT RELEASE')
      await writeFile(join(folder, '_restore'), '')
    })
    try {
      expect(await rowsIn(d, devices)).toEqual({ rows: 8, distinct: 8 })
      await reportAll(startMs + 2_000)
      await startWriter(d, `${environment().QUESTDB_SERVERS};${d.entry}`)
      await untilStored(d, devices, 12)
      const counts = async ({ questdb }: TestCopy) =>
        questdb.query('SELECT device_id, count() FROM system ORDER BY device_id')
      await untilStored(a, devices, 12)
      expect(await counts(d)).toEqual(await counts(a))
    } finally {
      await writers.get('d')?.stop()
      writers.delete('d')
      await d.stop()
    }
  }, 300_000)
})

test('several servers without Kafka are refused with the reason', async () => {
  const server = (name: string, port: number) => `${name}=http://127.0.0.1:${port},postgresql://127.0.0.1:${port}/qdb`
  const start = startAppProcess('apps/ingest/main.ts', {
    POSTGRES_URL: 'postgresql://127.0.0.1:9/none',
    QUESTDB_SERVERS: `${server('a', 9)};${server('b', 10)}`,
    CONFIG_SECRETS_KEY: newId(),
  })
  await expect(start).rejects.toThrow('only with Kafka does each server get every report')
})
