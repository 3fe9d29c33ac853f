import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { newId } from '#core/ids'
import type { TelemetryBatch } from '#telemetry-log/log'
import { openPartitionedLog } from '#telemetry-log/segments/partitioned-log'
import { figuresOf } from '../test/support/stored-telemetry.ts'
import { cpuByThread } from './cpu-by-process.ts'
import { cpuSecondsOfTree, startServerProcess } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { driveSamples } from './samples.ts'
import { type BenchStack, startIngestProcess, withBenchStack } from './stack.ts'
import { medianRatio, shown } from './statistics.ts'

const deviceCount = 200
const samplesPerReport = 100
const partitionCounts = [1, 2, 4]
const storedLimitMs = 120_000
const pollMs = 200
/** Shares of the rows between which is measured: without the start of the process and the last, smaller flushes. */
const measuredFrom = 0.2
const measuredTo = 0.8

/** CPU seconds are per million rows. */
type Round = { rowsPerSecond: number; writerCpuSeconds: number; ingestCpuSeconds: number; sinkCpuSeconds: number }

/** The writers alone: a log full of reports, and a server that drops the rows. */
export const partitions: Bench = {
  name: 'partitions',
  about:
    'Ingest starts with a log full of reports of 100 samples and stores them. Rows go to a server that only responds, in another process; SQL goes to QuestDB, which has no rows. Nothing else uses the service.',
  run: ({ quick }) => withBenchStack((stack) => measure(stack, quick)),
}

async function measure(stack: BenchStack, quick: boolean): Promise<Figure[]> {
  const sink = await startServerProcess('./sink-server.ts')
  const reports = reportsOf(quick ? 50 : 100)
  const rounds = new Map<number, Round[]>(partitionCounts.map((count) => [count, []]))
  try {
    for (let round = 0; round < (quick ? 1 : 3); round++) {
      for (const [count, found] of rounds) found.push(await drain(stack, sink, reports, count))
    }
  } finally {
    await sink.stop()
  }
  const one = rounds.get(1) ?? []
  return [...rounds].flatMap(([count, found]) => figures(count, found, one))
}

function figures(count: number, rounds: readonly Round[], one: readonly Round[]): Figure[] {
  const of = (read: (round: Round) => number) => rounds.map(read)
  const speed = (from: readonly Round[]) => from.map(({ rowsPerSecond }) => rowsPerSecond)
  const label = `LOG_PARTITIONS=${count}`
  const ratio = `${medianRatio(speed(rounds), speed(one)).toFixed(2)} × one partition`
  const cpu = (what: string, read: (round: Round) => number): Figure => ({
    name: `${label}: CPU seconds of ${what} per million rows`,
    value: shown(of(read), 2),
  })
  return [
    { name: `${label}: rows/s`, value: shown(speed(rounds)), ...(count === 1 ? {} : { ratio }) },
    cpu('the writer threads', ({ writerCpuSeconds }) => writerCpuSeconds),
    cpu('ingest, with its other threads', ({ ingestCpuSeconds }) => ingestCpuSeconds),
    cpu('the server that drops the rows', ({ sinkCpuSeconds }) => sinkCpuSeconds),
  ]
}

/** Returns reports of a drive of each device in the order of live traffic. */
function reportsOf(perDevice: number): TelemetryBatch[] {
  const devices = Array.from({ length: deviceCount }, () => newId())
  const organizationId = newId()
  const startMs = Date.now() - 20 * 3_600_000
  return Array.from({ length: perDevice }, (_, index) => {
    const tsMs = startMs + (index * samplesPerReport * 1_000) / 2
    return devices.map((deviceId, seed) => ({
      deviceId,
      organizationId,
      deviceClass: 'vehicle' as const,
      receivedAtMs: tsMs + samplesPerReport * 1_000,
      oldestTsMs: 0,
      format: 'json' as const,
      sampleCount: samplesPerReport,
      body: Buffer.from(JSON.stringify({ samples: driveSamples(samplesPerReport, tsMs, seed) })),
    }))
  }).flat()
}

async function drain(
  stack: BenchStack,
  sink: { port: number; pid: number },
  reports: readonly TelemetryBatch[],
  count: number,
): Promise<Round> {
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-partitions-'))
  try {
    const log = await openPartitionedLog({ folder, partitions: count })
    for (let start = 0; start < reports.length; start += deviceCount) {
      await Promise.all(reports.slice(start, start + deviceCount).map((report) => log.append(report)))
    }
    await log.close()
    const rows = reports.length * samplesPerReport
    const environment = { LOG_DIR: folder, QUESTDB_URL: `http://127.0.0.1:${sink.port}` }
    const ingest = await startIngestProcess(stack, { environment })
    const readWhen = (share: number) => readWhenStored(ingest, sink.pid, share * rows)
    try {
      const from = await readWhen(measuredFrom)
      const to = await readWhen(measuredTo)
      const stored = to.stored - from.stored
      const perMillion = (cpuSeconds: number) => (cpuSeconds / stored) * 1e6
      return {
        rowsPerSecond: (stored / (to.atMs - from.atMs)) * 1_000,
        writerCpuSeconds: perMillion(to.writerCpuSeconds - from.writerCpuSeconds),
        ingestCpuSeconds: perMillion(to.ingestCpuSeconds - from.ingestCpuSeconds),
        sinkCpuSeconds: perMillion(to.sinkCpuSeconds - from.sinkCpuSeconds),
      }
    } finally {
      await ingest.stop()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Reads the clock and CPU times as soon as this number of rows is stored. */
async function readWhenStored(ingest: { port: number; pid: number }, sinkPid: number, rows: number) {
  const giveUpAtMs = performance.now() + storedLimitMs
  for (;;) {
    const { samples_stored_total: stored = 0 } = await figuresOf(`http://127.0.0.1:${ingest.port}`)
    if (stored >= rows) {
      return {
        stored,
        atMs: performance.now(),
        writerCpuSeconds: cpuByThread(ingest.pid).get('writer') ?? Number.NaN,
        ingestCpuSeconds: cpuSecondsOfTree(ingest.pid),
        sinkCpuSeconds: cpuSecondsOfTree(sinkPid),
      }
    }
    if (performance.now() > giveUpAtMs) throw new Error(`Only ${stored} of ${rows} rows were stored.`)
    await pause(pollMs)
  }
}
