import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { readCheckpoint } from '#telemetry-log/checkpoints/checkpoint-file'
import { partitionOf } from '#telemetry-log/partition'
import { placesOf, readLayout } from '#telemetry-log/segments/layout'
import { openSegmentLog } from '#telemetry-log/segments/segment-log'
import { startCountingProxy } from '#test/counting-proxy'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { figuresOf } from '#test/stored-telemetry'
import { applied } from '#test/telemetry-rows'
import { until } from '#test/until'

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let devices: ReportingDevice[]
vi.setConfig({ testTimeout: 180_000 })
const storedWithinMs = 80_000
const folders: string[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
afterAll(async () => {
  await Promise.all([pool.end(), questdb.end()])
  await database.drop()
  for (const folder of folders) rmSync(folder, { recursive: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'partitions-'))
  folders.push(folder)
  return folder
}

type Options = { partitions?: number; questdbIsDown?: boolean }

function start(logDir: string, { partitions, questdbIsDown = false }: Options = {}): Promise<IngestProcess> {
  const known = questdbConnection()
  // Nothing listens on port 1.
  const away = { httpUrl: 'http://127.0.0.1:1', pgUrl: known.pgUrl.replace(/:\d+\//, ':1/') }
  return startIngestProcess({
    postgresUrl: database.url,
    questdb: questdbIsDown ? { ...known, ...away } : known,
    logDir,
    environment: partitions === undefined ? {} : { LOG_PARTITIONS: String(partitions) },
  })
}

const newDevices = async (count: number) => newReportingDevices(pool, await newOrganization(pool), count)

async function send(url: string, { token }: ReportingDevice, samples: readonly object[]): Promise<void> {
  const answer = await fetch(`${url}/telemetry`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ samples }),
  })
  expect(await answer.json()).toMatchObject({ accepted: samples.length, rejected: [] })
}

type SystemRow = { ts: number; uptime_s: number; firmware: string }
const systemRows = ({ id }: ReportingDevice) =>
  questdb.query<SystemRow>('SELECT ts, uptime_s, firmware FROM system WHERE device_id = $1 ORDER BY ts', [id])

/** Waits until the metrics say that everything is stored. Returns them. */
async function untilStored(url: string): Promise<Record<string, number>> {
  const figures = await until(
    'everything is stored',
    async () => {
      const now = await figuresOf(url)
      return now.backlog_samples === 0 ? now : undefined
    },
    storedWithinMs,
  )
  const { samples_stored_total: stored = 0, samples_replaced_total: replaced = 0 } = figures
  const { samples_dead_lettered_total: dead = 0 } = figures
  expect(figures.samples_accepted_total).toBe(stored + replaced + dead)
  return figures
}

test('kill -9 with 4 partitions loses and doubles nothing, and the last report of each device is the one that stands', async () => {
  const logDir = newFolder()
  devices = await newDevices(24)
  let ingest = await start(logDir, { partitions: 4 })
  const startMs = Date.now() - 60_000
  const rounds = 40
  const killAfter = [0.3, 0.7]
  const kills = killAfter.length
  let acknowledged = 0
  let restarting: Promise<void> | undefined
  const restart = async () => {
    await ingest.end('SIGKILL')
    ingest = await start(logDir)
  }

  /** Each report has a sample of its own and one that replaces the same sample of the report before. */
  async function report(device: ReportingDevice, round: number): Promise<void> {
    const samples = [
      { kind: 'system', ts: startMs, uptimeS: round, firmware: `v${round}` },
      { kind: 'system', ts: startMs + 1 + round, uptimeS: round, firmware: `v${round}` },
    ]
    for (;;) {
      try {
        await send(ingest.url, device, samples)
        acknowledged += 1
        return
      } catch (error) {
        // Like a router, send it again after the restart.
        if (!(error instanceof TypeError)) throw error
        await restarting
      }
    }
  }

  await Promise.all([
    ...devices.map(async (device) => {
      for (let round = 0; round < rounds; round++) await report(device, round)
    }),
    (async () => {
      for (const after of killAfter) {
        const enough = after * devices.length * rounds
        await until('some reports are acknowledged', async () => acknowledged > enough, storedWithinMs)
        restarting = restart()
        await restarting
      }
    })(),
  ])

  const figures = await untilStored(ingest.url)
  await applied(questdb, 'system')
  for (const device of devices) {
    const rows = await systemRows(device)
    expect(rows.map(({ ts }) => ts - startMs)).toEqual(Array.from({ length: rounds + 1 }, (_, index) => index))
    expect(rows.map(({ uptime_s }) => uptime_s)).toEqual([
      rounds - 1,
      ...Array.from({ length: rounds }, (_, index) => index),
    ])
  }
  // A killed writer processes again what it stored after its last checkpoint. The row of a sample that was replaced meanwhile
  // does not tell whether an earlier one existed, so such a sample can count as stored instead of replaced: the one that all
  // reports of a device share, and one that was sent again.
  const miscounted = kills * devices.length * 2
  const stored = figures.samples_stored_total ?? 0
  expect(stored).toBeGreaterThanOrEqual(devices.length * (rounds + 1))
  expect(stored).toBeLessThanOrEqual(devices.length * (rounds + 1) + miscounted)
  const ids = devices.map(({ id }) => id)
  await until('Postgres has what every writer reported', async () => {
    const { rows } = await pool.query<{ devices: number }>(
      'SELECT count(*)::int AS devices FROM device WHERE id = ANY($1::uuid[]) AND firmware = $2',
      [ids, `v${rounds - 1}`],
    )
    return rows[0]?.devices === devices.length
  })
  await ingest.end('SIGTERM')
  const places = placesOf(logDir, readLayout(logDir))
  expect(places.length).toBe(4)
  const storedBy = places.map(({ folder }) => readCheckpoint(folder)?.counts.stored ?? 0)
  expect(storedBy.reduce((sum, count) => sum + count)).toBe(stored)
  for (const { partition } of places) {
    const own = ids.filter((id) => partitionOf(id, 4) === partition).length
    expect(storedBy[partition]).toBeGreaterThanOrEqual(own * (rounds + 1))
  }
})

test('the number of partitions changes only when everything is stored', async () => {
  const logDir = newFolder()
  const reporting = await newDevices(12)
  const tsMs = Date.now() - 60_000
  const reportAll = async (url: string, uptimeS: number) => {
    for (const device of reporting) {
      await send(url, device, [
        { kind: 'system', ts: tsMs + uptimeS, uptimeS },
        { kind: 'system', ts: tsMs, uptimeS },
      ])
    }
  }
  const cut = await start(logDir, { partitions: 4, questdbIsDown: true })
  await reportAll(cut.url, 1)
  await cut.end('SIGTERM')

  const refusal = await start(logDir, { partitions: 2 }).catch((error: Error) => error.message)
  expect(refusal).toMatch(/^Ingest ended with code 1: LOG_PARTITIONS cannot be 2: .* 24 samples that are not stored/)
  expect(refusal).toContain(
    'Start with LOG_PARTITIONS=4, wait until telemetry_backlog_samples is 0, stop, and start with',
  )

  const draining = await start(logDir)
  await untilStored(draining.url)
  await draining.end('SIGTERM')

  const changed = await start(logDir, { partitions: 2 })
  expect(readLayout(logDir).partitions).toBe(2)
  expect((await figuresOf(changed.url)).samples_accepted_total).toBe(24)
  await reportAll(changed.url, 2)
  const figures = await untilStored(changed.url)
  expect(figures).toMatchObject({ samples_accepted_total: 48, samples_stored_total: 36, samples_replaced_total: 12 })
  await applied(questdb, 'system')
  for (const device of reporting) expect((await systemRows(device)).map(({ uptime_s }) => uptime_s)).toEqual([2, 1, 2])
  await changed.end('SIGTERM')
})

test('ingest stores what an earlier version has left in its log', async () => {
  const logDir = newFolder()
  const [device] = await newDevices(1)
  if (!device) throw new Error('There is no device.')
  const tsMs = Date.now() - 60_000
  const log = await openSegmentLog({ folder: logDir })
  for (const uptimeS of [1, 2, 3]) {
    const { id: deviceId, organizationId } = device
    const body = Buffer.from(JSON.stringify({ samples: [{ kind: 'system', ts: tsMs + uptimeS, uptimeS }] }))
    const context = { deviceClass: 'vehicle', format: 'json', oldestTsMs: 0, sampleCount: 1 } as const
    await log.append({ deviceId, organizationId, receivedAtMs: tsMs, body, ...context })
  }
  await log.close()
  const ingest = await start(logDir)
  expect(await untilStored(ingest.url)).toMatchObject({ samples_accepted_total: 3, samples_stored_total: 3 })
  await applied(questdb, 'system')
  expect((await systemRows(device)).map(({ uptime_s }) => uptime_s)).toEqual([1, 2, 3])
  await ingest.end('SIGTERM')
})

test('the writers of a process apply the schema once', async () => {
  const known = questdbConnection()
  const { hostname, port } = new URL(known.pgUrl)
  const proxy = await startCountingProxy({ host: hostname, port: Number(port) }, 'IF NOT EXISTS cellular (')
  const reporting = await newDevices(40)
  const ingest = await startIngestProcess({
    postgresUrl: database.url,
    questdb: { ...known, pgUrl: known.pgUrl.replace(`:${port}/`, `:${proxy.port}/`) },
    logDir: newFolder(),
    environment: { LOG_PARTITIONS: '4' },
  })
  for (const device of reporting) await send(ingest.url, device, [{ kind: 'system', ts: Date.now(), uptimeS: 1 }])
  // A writer stores its first report after it has applied the schema or waited for it.
  await untilStored(ingest.url)
  expect(proxy.count()).toBe(1)
  await ingest.end('SIGTERM')
  proxy.close()
})
