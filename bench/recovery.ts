import { setTimeout as pause } from 'node:timers/promises'
import { newOrganization, newReportingDevices, type ReportingDevice } from '../test/support/reporting-device.ts'
import { startBenchKafka } from './kafka.ts'
import { cpuSecondsOfTree, type PreparedLoad, prepareLoad, type ServerProcess, stopChild } from './processes.ts'
import type { Bench, BenchOptions, Figure } from './report.ts'
import { httpRequest, minuteSamples, parkedSamples } from './samples.ts'
import { type AppProcess, type BenchStack, spawnApp, startIngestProcess, withBenchStack } from './stack.ts'

const minuteMs = 60_000
const minutesDriven = 5
const minutesParked = 600
/** Most samples in a report of the past. */
const reportedTogether = 800
const visibleLimitMs = 600_000
const pollMs = 100
/** Samples per message to the load process, which has a limited size. */
const filledTogether = 400_000
/** Each router has a connection of its own. With few, the response times of Postgres and of the disk would limit the load. */
const connectionsAtOnce = 1_000
/** Reports of many samples are accepted a few at a time. */
const connectionsOfPast = 16

/** The time from a kill until queries return reports that were sent after it. Ingest holds the states. */
export const recovery: Bench = {
  name: 'recovery',
  about:
    'Ingest, which holds the states of all routers, is killed with SIGKILL and started again, and every router reports at once. Time from the kill until queries return the rows of these reports.',
  byNameOnly: true,
  run: (options) => measure(onFiles, driving, options),
}

/** The same with routers that do not move. `--minutes`: for how long. */
export const recoveryParked: Bench = {
  name: 'recovery-parked',
  about:
    'As recovery, with routers that have not moved for hours and reported their position every minute. Time from the kill until queries return the rows of their next reports.',
  byNameOnly: true,
  run: ({ devices = 5_000, minutes = minutesParked, quick }) =>
    measure(onFiles, parkedFor(quick ? 60 : minutes), { quick, devices }),
}

/** The same with Kafka. The writer holds the states, and ingest continues. */
export const recoveryKafka: Bench = {
  name: 'recovery-kafka',
  about:
    'The writer, which holds the states of all routers, is killed with SIGKILL and started again, and every router reports at once over Kafka. Time from the kill until queries return the rows of these reports.',
  byNameOnly: true,
  run: (options) => measure(onKafka, driving, options),
}

type Sample = Record<string, unknown>
/** The samples of a router by its number: what it reported until a time, oldest first, and what it reports after the kill. */
type Story = { past(seed: number, nowMs: number): Sample[]; next(seed: number, nowMs: number): Sample[] }

const minutesUntil = (nowMs: number, count: number) =>
  Array.from({ length: count }, (_, index) => nowMs - (count - index) * minuteMs)

const driving: Story = {
  past: (seed, nowMs) => minutesUntil(nowMs, minutesDriven).flatMap((tsMs) => minuteSamples(tsMs, seed)),
  next: (seed, nowMs) => minuteSamples(nowMs, seed),
}

const parkedFor = (minutes: number): Story => ({
  past: (seed, nowMs) =>
    minutesUntil(nowMs, minutes).flatMap((tsMs, index) =>
      // The others of the last minute show that everything is stored.
      parkedSamples(tsMs, seed).filter(({ kind }) => kind === 'location' || index === minutes - 1),
    ),
  next: (seed, nowMs) => parkedSamples(nowMs, seed),
})

type Fleet = { devices: readonly ReportingDevice[]; story: Story }
type Path = (stack: BenchStack, fleet: Fleet) => Promise<Figure[]>

function measure(
  path: Path,
  story: Story,
  { quick, devices = quick ? 3_000 : 100_000 }: BenchOptions,
): Promise<Figure[]> {
  return withBenchStack(async (stack) => {
    const organizationId = await newOrganization(stack.pool)
    return path(stack, { devices: await newReportingDevices(stack.pool, organizationId, devices), story })
  })
}

async function onFiles(stack: BenchStack, fleet: Fleet): Promise<Figure[]> {
  let ingest = await startIngestProcess(stack)
  try {
    await fill(stack, ingest, fleet)
    const fresh = await freshReports(fleet)
    const killedMs = await kill(ingest)
    ingest = await startIngestProcess(stack)
    const parts = { ingest: ingest.pid, ...stack.pids }
    return figures('segment files', fleet, await untilFresh(stack, ingest, { ...fleet, fresh, killedMs, parts }))
  } finally {
    await ingest.stop()
  }
}

/** The writer has a name, so that Kafka does not wait for the end of the killed writer's session. */
async function onKafka(stack: BenchStack, fleet: Fleet): Promise<Figure[]> {
  const { kafka, environment } = await startBenchKafka(stack)
  const named = { ...environment, KAFKA_MEMBER_NAME: 'writer' }
  const ingest = await startIngestProcess(stack, { environment })
  let writer = await spawnApp(stack, 'writer', { environment: named })
  try {
    await writer.ready()
    await fill(stack, ingest, fleet)
    const fresh = await freshReports(fleet)
    const killedMs = await kill(writer)
    writer = await spawnApp(stack, 'writer', { environment: named })
    const parts = { writer: writer.pid, ingest: ingest.pid, broker: kafka.pid(), ...stack.pids }
    return figures('Kafka', fleet, await untilFresh(stack, ingest, { ...fleet, fresh, killedMs, parts }))
  } finally {
    await Promise.all([ingest.stop(), writer.stop()])
    await kafka.stop()
  }
}

/** `cpuSeconds`: of the processes since the restart, and of the load. */
type Fresh = { acceptedMs: number; firstMs: number; allMs: number; cpuSeconds: [name: string, seconds: number][] }

function figures(log: string, { devices }: Fleet, { acceptedMs, firstMs, allMs, cpuSeconds }: Fresh): Figure[] {
  const of = `${devices.length.toLocaleString('en')} routers`
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  return [
    { name: `${log}: reports of ${of} accepted`, value: seconds(acceptedMs) },
    { name: `${log}: first fresh row`, value: seconds(firstMs) },
    { name: `${log}: fresh rows of ${of}`, value: seconds(allMs), target: '< 30 s' },
    {
      name: `${log}: CPU seconds`,
      value: cpuSeconds.map(([name, used]) => `${name} ${used.toFixed(1)}`).join(', '),
    },
  ]
}

/** Reports the past of each router, and waits until the process holds all of them. */
async function fill(stack: BenchStack, ingest: ServerProcess, { devices, story }: Fleet): Promise<void> {
  const nowMs = Date.now()
  let requests: string[] = []
  let samples = 0
  const send = async () => {
    await (await loadOf(requests, connectionsOfPast)).send(ingest.port)
    requests = []
    samples = 0
  }
  for (const [seed, device] of devices.entries()) {
    const past = story.past(seed, nowMs)
    for (let start = 0; start < past.length; start += reportedTogether)
      requests.push(requestOf(device, past.slice(start, start + reportedTogether)))
    samples += past.length
    if (samples >= filledTogether) await send()
  }
  if (requests.length > 0) await send()
  await untilRows(stack, devices, { fromMs: nowMs - minuteMs, rows: devices.length })
}

/** Prepared requests of all routers with samples of the time `fromMs`. */
type FreshReports = { fromMs: number; load: PreparedLoad }

/** Before the kill, because routers do not prepare their reports on this machine. */
async function freshReports({ devices, story }: Fleet): Promise<FreshReports> {
  const fromMs = Date.now()
  const requests = devices.map((device, seed) => requestOf(device, story.next(seed, fromMs)))
  return { fromMs, load: await loadOf(requests, connectionsAtOnce) }
}

type Recovering = {
  devices: readonly ReportingDevice[]
  fresh: FreshReports
  killedMs: number
  /** The ids of the processes whose CPU time is measured. */
  parts: Record<string, number>
}

async function untilFresh(
  stack: BenchStack,
  ingest: ServerProcess,
  { devices, fresh, killedMs, parts }: Recovering,
): Promise<Fresh> {
  const { fromMs, load } = fresh
  const since = () => performance.now() - killedMs
  const usedBefore = Object.entries(parts).map(([name, pid]) => ({ name, pid, seconds: cpuSecondsOfTree(pid) }))
  const [{ acceptedMs, loadSeconds }, firstMs, allMs] = await Promise.all([
    load.send(ingest.port).then((report) => ({ acceptedMs: since(), loadSeconds: report.cpuSeconds })),
    untilRows(stack, devices, { fromMs, rows: 1 }).then(since),
    untilRows(stack, devices, { fromMs, rows: devices.length }).then(since),
  ])
  const cpuSeconds = usedBefore.map(({ name, pid, seconds }): [string, number] => [
    name,
    cpuSecondsOfTree(pid) - seconds,
  ])
  return { acceptedMs, firstMs, allMs, cpuSeconds: [...cpuSeconds, ['load', loadSeconds]] }
}

const requestOf = ({ token }: ReportingDevice, samples: readonly Sample[]): string =>
  httpRequest('/telemetry', token, JSON.stringify({ samples }))

const loadOf = (requests: string[], connections: number): Promise<PreparedLoad> =>
  prepareLoad({ requests, connections, pipeline: 1, total: requests.length })

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
