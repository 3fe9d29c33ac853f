import { setTimeout as pause } from 'node:timers/promises'
import { newOrganization, newReportingDevices, type ReportingDevice } from '../test/support/reporting-device.ts'
import { startBenchKafka } from './kafka.ts'
import { applyLoad, type ServerProcess, stopChild } from './processes.ts'
import type { Bench, BenchOptions, Figure } from './report.ts'
import { httpRequest, minuteSamples } from './samples.ts'
import { type AppProcess, type BenchStack, spawnApp, startIngestProcess, withBenchStack } from './stack.ts'

const minuteMs = 60_000
const minutesBefore = 5
const visibleLimitMs = 600_000
const pollMs = 100

/** The time from a kill until queries return reports that were sent after it. Ingest holds the states. */
export const recovery: Bench = {
  name: 'recovery',
  about:
    'Ingest, which holds the states of all routers, is killed with SIGKILL and started again, and every router reports at once. Time from the kill until queries return the rows of these reports.',
  byNameOnly: true,
  run: (options) => measure(onFiles, options),
}

/** The same with Kafka. The writer holds the states, and ingest continues. */
export const recoveryKafka: Bench = {
  name: 'recovery-kafka',
  about:
    'The writer, which holds the states of all routers, is killed with SIGKILL and started again, and every router reports at once over Kafka. Time from the kill until queries return the rows of these reports.',
  byNameOnly: true,
  run: (options) => measure(onKafka, options),
}

type Path = (stack: BenchStack, devices: readonly ReportingDevice[]) => Promise<Figure[]>

function measure(path: Path, { quick, devices = quick ? 3_000 : 100_000 }: BenchOptions): Promise<Figure[]> {
  return withBenchStack(async (stack) => {
    const organizationId = await newOrganization(stack.pool)
    return path(stack, await newReportingDevices(stack.pool, organizationId, devices))
  })
}

async function onFiles(stack: BenchStack, devices: readonly ReportingDevice[]): Promise<Figure[]> {
  let ingest = await startIngestProcess(stack)
  try {
    await fill(stack, ingest, devices)
    const killedMs = await kill(ingest)
    ingest = await startIngestProcess(stack)
    return figures('segment files', devices.length, await untilFresh(stack, ingest, devices, killedMs))
  } finally {
    await ingest.stop()
  }
}

/** Kafka assigns the partitions again only after the session of the killed writer has ended. */
async function onKafka(stack: BenchStack, devices: readonly ReportingDevice[]): Promise<Figure[]> {
  const { kafka, environment } = await startBenchKafka(stack)
  const ingest = await startIngestProcess(stack, { environment })
  let writer = await spawnApp(stack, 'writer', { environment })
  try {
    await writer.ready()
    await fill(stack, ingest, devices)
    const killedMs = await kill(writer)
    writer = await spawnApp(stack, 'writer', { environment })
    return figures('Kafka', devices.length, await untilFresh(stack, ingest, devices, killedMs))
  } finally {
    await Promise.all([ingest.stop(), writer.stop()])
    await kafka.stop()
  }
}

type Fresh = { acceptedMs: number; firstMs: number; allMs: number }

function figures(log: string, devices: number, { acceptedMs, firstMs, allMs }: Fresh): Figure[] {
  const of = `${devices.toLocaleString('en')} routers`
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  return [
    { name: `${log}: reports of ${of} accepted`, value: seconds(acceptedMs) },
    { name: `${log}: first fresh row`, value: seconds(firstMs) },
    { name: `${log}: fresh rows of ${of}`, value: seconds(allMs), target: '< 30 s' },
  ]
}

/** Reports the last minutes of each router, and waits until the process holds all of them. */
async function fill(stack: BenchStack, ingest: ServerProcess, devices: readonly ReportingDevice[]): Promise<void> {
  const nowMs = Date.now()
  const times = Array.from({ length: minutesBefore }, (_, index) => nowMs - (minutesBefore - index) * minuteMs)
  await reportAll(ingest, devices, (seed) => times.flatMap((tsMs) => minuteSamples(tsMs, seed)))
  await untilRows(stack, devices, { fromMs: times.at(-1) ?? nowMs, rows: devices.length })
}

async function untilFresh(
  stack: BenchStack,
  ingest: ServerProcess,
  devices: readonly ReportingDevice[],
  killedMs: number,
): Promise<Fresh> {
  const fromMs = Date.now()
  const since = () => performance.now() - killedMs
  const [acceptedMs, firstMs, allMs] = await Promise.all([
    reportAll(ingest, devices, (seed) => minuteSamples(fromMs, seed)).then(since),
    untilRows(stack, devices, { fromMs, rows: 1 }).then(since),
    untilRows(stack, devices, { fromMs, rows: devices.length }).then(since),
  ])
  return { acceptedMs, firstMs, allMs }
}

async function reportAll(
  { port }: Pick<ServerProcess, 'port'>,
  devices: readonly ReportingDevice[],
  samplesOf: (seed: number) => Record<string, unknown>[],
): Promise<void> {
  const requests = devices.map(({ token }, seed) =>
    httpRequest('/telemetry', token, JSON.stringify({ samples: samplesOf(seed) })),
  )
  await applyLoad({ port, requests, connections: 16, pipeline: 4, total: requests.length })
}

/** Waits until queries return this number of RF rows of the devices since a time. */
async function untilRows(
  stack: BenchStack,
  [device]: readonly ReportingDevice[],
  { fromMs, rows }: { fromMs: number; rows: number },
): Promise<void> {
  const text = 'SELECT count() AS rows FROM cellular WHERE org_id = $1 AND ts >= $2'
  const values = [device?.organizationId ?? '', new Date(fromMs).toISOString()]
  const giveUpAtMs = performance.now() + visibleLimitMs
  for (;;) {
    const [found] = await stack.questdb.query<{ rows: string }>(text, values)
    if (Number(found?.rows) >= rows) return
    if (performance.now() > giveUpAtMs) throw new Error(`Only ${found?.rows} of ${rows} rows became visible.`)
    await pause(pollMs)
  }
}

/** Returns the time of the kill by `performance.now()`. */
async function kill({ child }: AppProcess): Promise<number> {
  const killedMs = performance.now()
  child.kill('SIGKILL')
  await stopChild(child)
  return killedMs
}
