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
/** Reports per message to the load process, which has a limited size. */
const filledTogether = 20_000
/** Each router has a connection of its own. With few, the response times of Postgres and of the disk would limit the load. */
const connectionsAtOnce = 1_000

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
    const fresh = freshReports(devices)
    const killedMs = await kill(ingest)
    ingest = await startIngestProcess(stack)
    return figures('segment files', devices.length, await untilFresh(stack, ingest, { devices, fresh, killedMs }))
  } finally {
    await ingest.stop()
  }
}

/** The writer has a name, so that Kafka does not wait for the end of the killed writer's session. */
async function onKafka(stack: BenchStack, devices: readonly ReportingDevice[]): Promise<Figure[]> {
  const { kafka, environment } = await startBenchKafka(stack)
  const named = { ...environment, KAFKA_MEMBER_NAME: 'writer' }
  const ingest = await startIngestProcess(stack, { environment })
  let writer = await spawnApp(stack, 'writer', { environment: named })
  try {
    await writer.ready()
    await fill(stack, ingest, devices)
    const fresh = freshReports(devices)
    const killedMs = await kill(writer)
    writer = await spawnApp(stack, 'writer', { environment: named })
    return figures('Kafka', devices.length, await untilFresh(stack, ingest, { devices, fresh, killedMs }))
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
  for (let start = 0; start < devices.length; start += filledTogether) {
    const some = devices.slice(start, start + filledTogether)
    const samplesOf = (seed: number) => times.flatMap((tsMs) => minuteSamples(tsMs, start + seed))
    await report(ingest, requestsOf(some, samplesOf))
  }
  await untilRows(stack, devices, { fromMs: times.at(-1) ?? nowMs, rows: devices.length })
}

/** Prepared requests of all routers with samples of the time `fromMs`. */
type FreshReports = { fromMs: number; requests: string[] }

function freshReports(devices: readonly ReportingDevice[]): FreshReports {
  const fromMs = Date.now()
  return { fromMs, requests: requestsOf(devices, (seed) => minuteSamples(fromMs, seed)) }
}

async function untilFresh(
  stack: BenchStack,
  ingest: ServerProcess,
  { devices, fresh, killedMs }: { devices: readonly ReportingDevice[]; fresh: FreshReports; killedMs: number },
): Promise<Fresh> {
  const { fromMs, requests } = fresh
  const since = () => performance.now() - killedMs
  const [acceptedMs, firstMs, allMs] = await Promise.all([
    report(ingest, requests).then(since),
    untilRows(stack, devices, { fromMs, rows: 1 }).then(since),
    untilRows(stack, devices, { fromMs, rows: devices.length }).then(since),
  ])
  return { acceptedMs, firstMs, allMs }
}

const requestsOf = (
  devices: readonly ReportingDevice[],
  samplesOf: (seed: number) => Record<string, unknown>[],
): string[] =>
  devices.map(({ token }, seed) => httpRequest('/telemetry', token, JSON.stringify({ samples: samplesOf(seed) })))

async function report({ port }: Pick<ServerProcess, 'port'>, requests: string[]): Promise<void> {
  await applyLoad({ port, requests, connections: connectionsAtOnce, pipeline: 1, total: requests.length })
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
