import { setTimeout as pause } from 'node:timers/promises'
import { kinds } from '#telemetry/report/fields'
import { type BenchKafka, startBenchKafka } from './kafka.ts'
import { applyLoad, cpuSecondsOfTree } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { driveSamples, httpRequest } from './samples.ts'
import { type AppProcess, type BenchStack, seedDevices, spawnApp, startIngestProcess, withBenchStack } from './stack.ts'
import { medianRatio, shown } from './statistics.ts'

const deviceCount = 100
const samplesPerRequest = 100
const visibleLimitMs = 180_000
const hourMs = 3_600_000

/** CPU seconds are per million rows. */
type Round = { rowsPerSecond: number; cpuSeconds: number }

/** The same reports over segment files and over Kafka, one after the other. */
export const kafkaPath: Bench = {
  name: 'kafka-path',
  about:
    'Reports of 100 samples until queries return all their rows: over a Kafka broker and a writer process, compared with the segment files of ingest. All processes share the cores.',
  byNameOnly: true,
  run: ({ quick }) => withBenchStack((stack) => measure(stack, quick)),
}

async function measure(stack: BenchStack, quick: boolean): Promise<Figure[]> {
  const broker = await startBenchKafka(stack)
  const files = await startIngestProcess(stack)
  const overKafka = await startIngestProcess(stack, { environment: broker.environment })
  const writer = await spawnApp(stack, 'writer', { environment: broker.environment })
  try {
    await writer.ready()
    return await compare(stack, { broker, files, overKafka, writer }, quick)
  } finally {
    await Promise.all([files.stop(), overKafka.stop(), writer.stop()])
    await broker.kafka.stop()
  }
}

type Parts = { broker: BenchKafka; files: AppProcess; overKafka: AppProcess; writer: AppProcess }

async function compare(
  stack: BenchStack,
  { broker, files, overKafka, writer }: Parts,
  quick: boolean,
): Promise<Figure[]> {
  const paths = {
    files: { port: files.port, devices: await seedDevices(stack, deviceCount), rounds: [] as Round[] },
    kafka: { port: overKafka.port, devices: await seedDevices(stack, deviceCount), rounds: [] as Round[] },
  }
  const pids = [files.pid, overKafka.pid, writer.pid, broker.kafka.pid(), stack.pids.questdb]
  const cpu = () => pids.reduce((sum, pid) => sum + cpuSecondsOfTree(pid), 0)
  const reports = quick ? 15 : 30
  const count = quick ? 2 : 5
  for (let round = 0; round < count; round++) {
    for (const { port, devices, rounds } of Object.values(paths)) {
      // Each round continues the previous one, and all samples are from the last day.
      const requests = requestsOf(devices, reports, Date.now() - 22 * hourMs + round * 4 * hourMs)
      const rows = requests.length * samplesPerRequest
      const before = { rows: await visibleRows(stack), cpu: cpu(), ms: performance.now() }
      await applyLoad({ port, requests, connections: 16, pipeline: 4, total: requests.length })
      await untilVisible(stack, before.rows + rows)
      const seconds = (performance.now() - before.ms) / 1_000
      rounds.push({ rowsPerSecond: rows / seconds, cpuSeconds: ((cpu() - before.cpu) / rows) * 1e6 })
    }
  }
  const speed = (rounds: readonly Round[]) => rounds.map(({ rowsPerSecond }) => rowsPerSecond)
  const cpuOf = (rounds: readonly Round[]) =>
    shown(
      rounds.map(({ cpuSeconds }) => cpuSeconds),
      1,
    )
  const ratio = medianRatio(speed(paths.kafka.rounds), speed(paths.files.rounds))
  return [
    { name: 'segment files, rows/s', value: shown(speed(paths.files.rounds)) },
    {
      name: 'Kafka with one writer process, rows/s',
      value: shown(speed(paths.kafka.rounds)),
      ratio: `${ratio.toFixed(2)} × segment files`,
      target: '≥ 0.5 ×',
    },
    { name: 'segment files: CPU seconds of all processes per million rows', value: cpuOf(paths.files.rounds) },
    { name: 'Kafka: CPU seconds of all processes per million rows', value: cpuOf(paths.kafka.rounds) },
  ]
}

/** Consecutive parts of a drive of each device, in the order of live traffic. */
function requestsOf(devices: readonly { token: string }[], reports: number, startMs: number): string[] {
  return Array.from({ length: reports }, (_, report) =>
    devices.map(({ token }, seed) => {
      const samples = driveSamples(samplesPerRequest, startMs + (report * samplesPerRequest * 1_000) / 2, seed)
      return httpRequest('/telemetry', token, JSON.stringify({ samples }))
    }),
  ).flat()
}

async function visibleRows(stack: BenchStack): Promise<number> {
  let sum = 0
  for (const kind of kinds) {
    const [row] = await stack.questdb.query<{ rows: string }>(`SELECT count() AS rows FROM ${kind}`)
    sum += Number(row?.rows ?? 0)
  }
  return sum
}

async function untilVisible(stack: BenchStack, rows: number): Promise<void> {
  const giveUpAtMs = performance.now() + visibleLimitMs
  for (let found = 0; ; await pause(20)) {
    found = await visibleRows(stack)
    if (found >= rows) return
    if (performance.now() > giveUpAtMs) throw new Error(`Only ${found} of ${rows} rows became visible.`)
  }
}
