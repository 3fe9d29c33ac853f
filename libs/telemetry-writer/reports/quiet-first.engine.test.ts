import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { Secret } from '#core/secret'
import { openIlpTransport } from '#questdb/server/ilp-transport'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import type { SampleCounts } from '#telemetry-log/checkpoints/checkpoint'
import type { LogPosition } from '#telemetry-log/log'
import { openSegmentLog } from '#telemetry-log/segments/segment-log'
import { openSegmentReader } from '#telemetry-log/segments/segment-reader'
import { createSharedTailMemory, openSharedTail, type SharedTail } from '#telemetry-log/segments/shared-tail'
import { createPipeline } from '#telemetry-writer/pipeline'
import { createActivity } from '#telemetry-writer/store/activity'
import { createRowStore, type RowStore } from '#telemetry-writer/store/store-rows'
import { questdbConnection } from '#test/questdb'
import { until } from '#test/until'
import { decodeHere } from './decode-report.ts'

let questdb: QuestdbSql
const folder = mkdtempSync(join(tmpdir(), 'quiet-first-'))
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
afterAll(async () => {
  await questdb.end()
  rmSync(folder, { recursive: true })
})

const nowMs = Date.now()
const organizationId = newId()
let sent = 0

function batchOf(deviceId: string, samples: readonly object[]) {
  const body = Buffer.from(JSON.stringify({ samples }))
  const times = { receivedAtMs: nowMs + sent++, oldestTsMs: nowMs - 86_400_000 }
  const kind = { deviceClass: 'vehicle', format: 'json' } as const
  return { deviceId, organizationId, ...kind, ...times, sampleCount: samples.length, body }
}

const system = (msAgo: number, cpuPct: number) => ({ kind: 'system', ts: nowMs - msAgo, cpuPct })
const thousand = (report: number) => Array.from({ length: 1_000 }, (_, index) => system(report * 1_000 + index, 1))

const noCounts: SampleCounts = { stored: 0, replaced: 0, deadLettered: 0 }
const total = ({ stored, replaced, deadLettered }: SampleCounts) => stored + replaced + deadLettered

type Observed = {
  tail: SharedTail
  folder?: string
  onStore?: (batch: Parameters<RowStore['store']>[0]) => void
  onStored: (position: LogPosition, counts: SampleCounts) => void
}

/** Runs a pipeline on the log in the folder until `close`. */
function openPipeline({ tail, folder: logFolder = folder, onStore, onStored }: Observed) {
  const { httpUrl: url, user, password } = questdbConnection()
  const transport = openIlpTransport({ url, user, password: new Secret(password) })
  const rows = createRowStore({
    transport,
    saveDeadRows: () => {},
    repairSchema: async () => {},
    onRetry: () => {},
    signal: new AbortController().signal,
  })
  const store: RowStore = {
    store(batch) {
      onStore?.(batch)
      return rows.store(batch)
    },
  }
  const reader = openSegmentReader({ folder: logFolder, from: 0, onDamage: () => {} })
  const ahead = openSegmentReader({ folder: logFolder, from: 0 })
  const fail = (_subject: unknown, error: unknown) => {
    throw error
  }
  const pipeline = createPipeline({
    ...{ reader, ahead, earlier: ahead, decode: decodeHere, tail, questdb, store, activity: createActivity() },
    cleaning: { count: () => {}, list: () => [] },
    checkpoint: { position: 0, counts: noCounts, atMs: 0, history: [] },
    onStored,
    onFailure: { report: fail, device: fail },
  })
  const running = pipeline.run()
  return {
    async close() {
      pipeline.stop()
      await running
      reader.close()
      ahead.close()
      await transport.close()
    },
  }
}

test('reports of a quiet device overtake the backlog of a busy device, and all are counted once', {
  timeout: 120_000,
}, async () => {
  const tail = openSharedTail(createSharedTailMemory())
  const log = await openSegmentLog({ folder, onTail: ({ position }) => tail.publish(position) })
  const [noisy, quiet] = [newId(), newId()]
  const noisyReports = 200
  for (let report = 0; report < noisyReports; report++) {
    await log.append(batchOf(noisy, thousand(report)))
    if (report === 150) await log.append(batchOf(quiet, [system(9_000, 1), system(8_000, 1)]))
  }
  await log.append(batchOf(quiet, [system(8_000, 2), system(7_000, 2), system(7_000, 3)]))

  const samplesBefore = new Map([[log.tail().position, log.tail().samples]])
  const whole = openSegmentReader({ folder, from: 0 })
  for (let batches = whole.read(tail.position(), 1); batches.length > 0; batches = whole.read(tail.position(), 1))
    for (const { position, firstSample } of batches) samplesBefore.set(position, firstSample)
  whole.close()

  let storedRows = 0
  /** Rows that were stored before each request with rows of the quiet device. */
  const before: number[] = []
  let counts = noCounts
  const miscounted: number[] = []
  const pipeline = openPipeline({
    tail,
    onStore(batch) {
      if (batch.bytes.includes(quiet)) before.push(storedRows)
      storedRows += batch.rowEnds.length
    },
    onStored(position, next) {
      counts = next
      if (position > 0 && total(next) !== samplesBefore.get(position)) miscounted.push(position)
    },
  })
  await until('every sample is accounted for', async () => total(counts) === log.tail().samples, 100_000)
  await pipeline.close()

  // A checkpoint counts exactly the samples before its position, whatever was stored in advance.
  expect(miscounted).toEqual([])
  expect(counts).toEqual({ stored: noisyReports * 1_000 + 3, replaced: 2, deadLettered: 0 })
  expect(Math.max(...before)).toBeLessThan(noisyReports * 500)
  const found = await until('the rows are queryable', async () => {
    const all = await questdb.query<{ ts: number; cpu_pct: number }>(
      'SELECT ts, cpu_pct FROM system WHERE device_id = $1 ORDER BY ts',
      [quiet],
    )
    return all.length === 3 && all.at(1)?.cpu_pct === 2 ? all : undefined
  })
  expect(found.map(({ ts, cpu_pct }) => [nowMs - ts, cpu_pct])).toEqual([
    [9_000, 1],
    [8_000, 2],
    [7_000, 3],
  ])
  await log.close()
})

test('reports that arrive while the writer waits for its next flush are counted by the flush that stores them', async () => {
  const tail = openSharedTail(createSharedTailMemory())
  const own = mkdtempSync(join(folder, 'log-'))
  const log = await openSegmentLog({ folder: own, onTail: ({ position }) => tail.publish(position) })
  const deviceId = newId()
  const counted: number[] = []
  const pipeline = openPipeline({ tail, folder: own, onStored: (_position, counts) => counted.push(total(counts)) })
  for (const report of [1, 2, 3]) {
    await log.append(batchOf(deviceId, [system(report, report)]))
    await until(`report ${report} is counted`, async () => counted.at(-1) === report, 20_000)
  }
  await pipeline.close()
  await log.close()
  expect(counted).toEqual([1, 2, 3])
})
