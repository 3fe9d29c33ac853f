import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { readCheckpoint } from '#telemetry-log/checkpoints/checkpoint-file'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'
import { applied } from '#test/telemetry-rows'
import { until } from '#test/until'

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let ingest: IngestProcess
vi.setConfig({ testTimeout: 180_000 })
const waitMs = 80_000
const logDir = mkdtempSync(join(tmpdir(), 'writer-restart-'))
const start = () => startIngestProcess({ postgresUrl: database.url, questdb: questdbConnection(), logDir })

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
  ingest = await start()
})
afterAll(async () => {
  await ingest.end('SIGTERM')
  await Promise.all([pool.end(), questdb.end()])
  await database.drop()
  rmSync(logDir, { recursive: true })
})

async function report(device: ReportingDevice, samples: readonly object[]): Promise<void> {
  const answer = await fetch(`${ingest.url}/telemetry`, {
    method: 'POST',
    headers: { authorization: `Bearer ${device.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ samples }),
  })
  expect(await answer.json()).toMatchObject({ accepted: samples.length, rejected: [] })
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${ingest.url}/metrics`)).text()
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.slice(name.length))
}
const rowsSent = (reason: string) => metric(`telemetry_rows_sent_total{reason="${reason}"}`)
const isStored = async () => (await metric('telemetry_backlog_samples')) === 0

/** Waits until the checkpoint file says that no earlier report is needed after a restart. */
const untilNothingIsPending = () =>
  until(
    'the checkpoint needs no earlier report',
    async () => {
      const kept = readCheckpoint(logDir)
      return (await isStored()) && kept !== undefined && kept.resumePosition === kept.position
    },
    waitMs,
  )

type Aligned = { ts: number; alignment: string; aligned_lat: number | null }
const alignedRows = ({ id }: ReportingDevice) =>
  questdb.query<Aligned>('SELECT ts, alignment, aligned_lat FROM cellular WHERE device_id = $1 ORDER BY ts', [id])

async function newDevice(): Promise<ReportingDevice> {
  const [device] = await newReportingDevices(pool, await newOrganization(pool), 1)
  if (!device) throw new Error('No device was made.')
  return device
}

/** A drive north at 10 m/s: RF every second, a new fix every 10 s. */
function drive(fromMs: number, seconds: number): { kind: string; ts: number }[] {
  return Array.from({ length: seconds }, (_, second) => {
    const ts = fromMs + second * 1_000
    const lat = 50 + Math.floor(second / 10) * 0.0009
    return [
      { kind: 'cellular', ts, rat: 'lte', rsrpDbm: -90 },
      ...(second % 10 === 0 ? [{ kind: 'location', ts, lat, lon: 8, accuracyM: 5, speedMps: 10 }] : []),
    ]
  }).flat()
}

test('a restart of ingest alone sends only what QuestDB lacks, and late fixes still move their rows', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 20 * 60_000
  const samples = drive(startMs, 1_001)
  const isLateFix = ({ kind, ts }: { kind: string; ts: number }) =>
    kind === 'location' && ts > startMs + 400_000 && ts < startMs + 600_000
  const inTime = samples.filter((sample) => !isLateFix(sample))
  for (let index = 0; index < inTime.length; index += 100) await report(device, inTime.slice(index, index + 100))
  await untilNothingIsPending()

  await report(device, samples.filter(isLateFix))
  await ingest.end('SIGKILL')
  ingest = await start()
  await until(
    'every row is placed as if all had come in order',
    async () => {
      const rows = await alignedRows(device)
      const isPlaced = ({ ts, alignment, aligned_lat }: Aligned) => {
        const second = (ts - startMs) / 1_000
        const place = second % 10 === 0 ? 'exact' : 'interpolated'
        return alignment === place && Math.abs((aligned_lat ?? 0) - (50 + second * 0.00009)) < 1e-6
      }
      return rows.length === 1_001 && rows.every(isPlaced)
    },
    waitMs,
  )
  expect(await isStored()).toBe(true)
  expect(await rowsSent('fresh')).toBeLessThan(30)
  expect(await rowsSent('replayed')).toBeLessThan(200)
})

/** Postgres has what a report says about its device this long after its rows were stored. */
const confirmedAfterMs = 1_500

/**
 * Sends late fixes. Returns whether the checkpoint file includes their report, confirmed by Postgres, while its realignment
 * has not begun.
 */
async function isStoredBeforeItsRealignment(device: ReportingDevice): Promise<boolean> {
  // Older than what a restart loads of each device.
  const startMs = Date.now() - 60 * 60_000
  const samples = drive(startMs, 301)
  const isLateFix = ({ kind, ts }: { kind: string; ts: number }) =>
    kind === 'location' && ts > startMs && ts < startMs + 300_000
  await report(
    device,
    samples.filter((sample) => !isLateFix(sample)),
  )
  await untilNothingIsPending()
  const realignedBefore = await rowsSent('realigned')
  await report(device, samples.filter(isLateFix))
  await until('the late report is stored', isStored, waitMs)
  const storedAtMs = Date.now()
  await until(
    'the checkpoint includes the confirmed report',
    async () => (readCheckpoint(logDir)?.atMs ?? 0) > storedAtMs + confirmedAfterMs,
    waitMs,
  )
  return (await rowsSent('realigned')) === realignedBefore
}

async function isPlacedByLateFixes(device: ReportingDevice): Promise<boolean> {
  const rows = await alignedRows(device)
  return rows.length === 301 && rows.every(({ alignment }) => alignment === 'exact' || alignment === 'interpolated')
}

test('a realignment that a crash interrupts is done after the restart although its report was stored', async () => {
  // The realignment begins within 5 s. If it wins, try again.
  const mostTries = 12
  for (let tries = 1; ; tries++) {
    const device = await newDevice()
    if (!(await isStoredBeforeItsRealignment(device)) && tries < mostTries) continue
    await ingest.end('SIGKILL')
    await applied(questdb, 'cellular')
    const isInterrupted = !(await isPlacedByLateFixes(device))
    ingest = await start()
    await until('every row is placed by the late fixes', () => isPlacedByLateFixes(device), waitMs)
    if (isInterrupted || tries >= mostTries) return
  }
})

test('the dwell of a device that stays silent after a restart is settled', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 20 * 60_000
  const fixes = Array.from({ length: 30 }, (_, index) => ({
    kind: 'location',
    ts: startMs + index * 20_000,
    lat: 50 + (index % 3) * 0.0002,
    lon: 8,
    accuracyM: 5,
  }))
  for (const fix of fixes) await report(device, [fix, { kind: 'cellular', ts: fix.ts, rat: 'lte', rsrpDbm: -90 }])
  await untilNothingIsPending()
  await ingest.end('SIGKILL')
  ingest = await start()
  expect((await alignedRows(device)).some(({ aligned_lat }) => aligned_lat !== 50.0002)).toBe(true)
  await until(
    'all rows stand at the centre of all its fixes',
    async () => (await alignedRows(device)).every(({ aligned_lat }) => Math.abs((aligned_lat ?? 0) - 50.0002) < 1e-9),
    waitMs,
  )
})

test('a device that reports after a restart continues without being read from QuestDB', async () => {
  const device = await newDevice()
  const startMs = Date.now() - 10 * 60_000
  const samples = drive(startMs, 200).filter(({ ts }) => ts < startMs + 94_000 || ts >= startMs + 97_000)
  await report(
    device,
    samples.filter(({ ts }) => ts < startMs + 95_000),
  )
  await untilNothingIsPending()
  const isKept = () => {
    const { name, bytes } = readCheckpoint(logDir)?.states ?? { name: '', bytes: 0 }
    return bytes > 0 && readFileSync(join(logDir, name)).subarray(0, bytes).includes(device.id)
  }
  const other = await newDevice()
  const reportOther = async () => {
    await report(other, [{ kind: 'cellular', ts: Date.now(), rat: 'lte', rsrpDbm: -90 }])
    await untilNothingIsPending()
  }
  await until(
    'a checkpoint has the state of the device',
    async () => {
      // Checkpoints follow stored rows, which another device reports.
      await reportOther()
      return isKept()
    },
    waitMs,
  )
  await ingest.end('SIGKILL')
  ingest = await start()
  // The state of the device that reported last may be kept or not. Afterwards it is in memory.
  await reportOther()
  const restored = () => metric('telemetry_states_restored_total')
  const restoredBefore = await restored()
  await report(
    device,
    samples.filter(({ ts }) => ts >= startMs + 95_000),
  )
  await until(
    'the rows of both reports are between their fixes',
    async () => {
      const rows = await alignedRows(device)
      const isPlaced = ({ ts, aligned_lat }: Aligned) =>
        Math.abs((aligned_lat ?? 0) - (50 + ((ts - startMs) / 1_000) * 0.00009)) < 1e-6
      return rows.length === 197 && rows.filter(({ ts }) => ts < startMs + 190_000).every(isPlaced)
    },
    waitMs,
  )
  expect(await restored()).toBe(restoredBefore)
  expect(await rowsSent('fresh')).toBeGreaterThanOrEqual(102)
})
