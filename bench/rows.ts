import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sendReasons } from '#telemetry-writer/store/activity'
import { newOrganization, newReportingDevices, type ReportingDevice } from '../test/support/reporting-device.ts'
import { until } from '../test/support/until.ts'
import type { Bench, Figure } from './report.ts'
import { moving, parked, type Traffic } from './rows-traffic.ts'
import { type BenchStack, startIngestProcess, withBenchStack } from './stack.ts'

const target = '≤ 2.2'
const minuteMs = 60_000
const storedLimitMs = 60_000
/** After this time, ingest flushes. */
const flushMs = 3_000
const leavingRounds = 3
/** For the departure. */
const spareMs = 60 * minuteMs

/** What QuestDB is sent, compared with what routers report. */
export const rows: Bench = {
  name: 'rows',
  about:
    'Rows sent to QuestDB for each accepted RF sample, without the rows of other samples. The clock of ingest is set forward from report to report as soon as all rows are stored and aligned, and then runs as fast as the real clock.',
  run: ({ quick }) => withBenchStack((stack) => measure(stack, quick)),
}

type Scenario = {
  name: string
  traffic: Traffic
  reportEveryMs: number
  forMs: number
  /** Devices report in this many groups, one after the other. */
  groups: number
}

const devicesPerGroup = 5

async function measure(stack: BenchStack, quick: boolean): Promise<Figure[]> {
  const minutes = (count: number, quickCount: number) => (quick ? quickCount : count) * minuteMs
  const every10s = { reportEveryMs: 10_000, groups: 2 }
  const every60s = { reportEveryMs: minuteMs, groups: 2 }
  const scenarios: Scenario[] = [
    { ...every10s, name: 'moving, a report every 10 s', traffic: moving, forMs: minutes(30, 3) },
    { ...every60s, name: 'moving, a report every 60 s', traffic: moving, forMs: minutes(120, 15) },
    {
      ...every60s,
      name: 'parked, a report every 60 s, departure included',
      traffic: parked,
      forMs: minutes(1_440, 60),
    },
  ]
  const restarts: Scenario[] = [
    {
      ...every10s,
      name: 'moving, a report every 10 s, after a restart of ingest',
      traffic: moving,
      forMs: minutes(20, 3),
    },
    {
      ...every60s,
      name: 'parked, a report every 60 s, after a restart of ingest',
      traffic: parked,
      forMs: minutes(60, 20),
    },
  ]
  const figures: Figure[] = []
  for (const scenario of scenarios) figures.push(await play(stack, scenario, 0))
  for (const scenario of restarts) figures.push(await play(stack, scenario, minutes(10, 3)))
  return figures
}

/** Plays a scenario. */
async function play(stack: BenchStack, scenario: Scenario, afterMs: number): Promise<Figure> {
  const fleet = await openFleet(stack, { ...scenario, forMs: scenario.forMs + afterMs + spareMs })
  try {
    await fleet.reportFor(scenario.forMs)
    if (afterMs > 0) {
      await fleet.restart()
      await fleet.reportFor(afterMs)
    }
    if (scenario.traffic === parked) await fleet.leave()
    return await fleet.figure(scenario.name)
  } finally {
    await fleet.close()
  }
}

/** Starts ingest with a clock that is behind by the time of the scenario, and registers devices. */
async function openFleet(stack: BenchStack, scenario: Scenario) {
  const { reportEveryMs, forMs, groups } = scenario
  let { traffic } = scenario
  const devices = await newReportingDevices(stack.pool, await newOrganization(stack.pool), groups * devicesPerGroup)
  let aheadMs = -forMs - minuteMs
  const logDir = await mkdtemp(join(tmpdir(), 'routerfleet-rows-'))
  const start = () => startIngest(stack, { LOG_DIR: logDir, BENCH_CLOCK_AHEAD_MS: String(aheadMs) })
  let ingest = await start()
  const nowMs = () => Date.now() + aheadMs
  const reportedUntilMs = devices.map(nowMs)
  let radioSamples = 0
  let otherSamples = 0

  async function stepBy(ms: number): Promise<void> {
    aheadMs += ms
    const isSet = new Promise<void>((resolve, reject) => {
      ingest.child.once('message', () => resolve())
      ingest.child.once('exit', () => reject(new Error('Ingest has ended.')))
    })
    ingest.child.send({ aheadMs })
    await isSet
    ingest.child.removeAllListeners('exit')
  }

  async function report(device: ReportingDevice, index: number): Promise<void> {
    const toMs = nowMs()
    const samples = traffic(index, reportedUntilMs[index] ?? toMs, toMs)
    reportedUntilMs[index] = toMs
    if (samples.length === 0) return
    const answer = await fetch(`http://127.0.0.1:${ingest.port}/telemetry`, {
      method: 'POST',
      headers: { authorization: `Bearer ${device.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ samples }),
    })
    const { accepted } = (await answer.json()) as { accepted?: number }
    if (accepted !== samples.length) throw new Error(`${accepted} of ${samples.length} samples were accepted.`)
    const radio = samples.filter(({ kind }) => kind === 'cellular').length
    radioSamples += radio
    otherSamples += samples.length - radio
  }

  const metricsText = async () => (await fetch(`http://127.0.0.1:${ingest.port}/metrics`)).text()
  const untilStored = () =>
    until(
      'all samples are stored',
      async () => metric(await metricsText(), 'telemetry_backlog_samples') === 0,
      storedLimitMs,
    )

  const sentRows = async () => {
    const text = await metricsText()
    return sendReasons.map((reason) => metric(text, `telemetry_rows_sent_total{reason="${reason}"}`))
  }
  async function hasFinalPositions(): Promise<boolean> {
    await stepBy(flushMs)
    const positions = await stack.questdb.query<{ lowest: number; highest: number }>(
      `SELECT device_id, min(aligned_lat) lowest, max(aligned_lat) highest FROM cellular
       WHERE alignment = 'dwell' AND device_id IN (${devices.map(({ id }) => `'${id}'`).join(', ')})`,
    )
    return positions.length === devices.length && positions.every(({ lowest, highest }) => lowest === highest)
  }

  return {
    async reportFor(ms: number): Promise<void> {
      const stepMs = reportEveryMs / groups - flushMs
      const untilMs = nowMs() + ms
      for (let group = 0; nowMs() < untilMs; group = (group + 1) % groups) {
        await stepBy(stepMs)
        const reporting = [...devices.entries()].filter(([index]) => index % groups === group)
        await Promise.all(reporting.map(([index, device]) => report(device, index)))
        await stepBy(flushMs)
        await untilStored()
      }
    },
    /** Parked devices drive away, so that their dwells end and all rows get their final position. */
    async leave(): Promise<void> {
      traffic = moving
      for (let round = 0; round < leavingRounds; round++) {
        await stepBy(reportEveryMs)
        await Promise.all(devices.map(report))
        await stepBy(flushMs)
        await untilStored()
      }
      await until('all rows of a dwell have its final position', hasFinalPositions, storedLimitMs)
    },
    /** Ends ingest without a warning and starts it again. Counts from zero. */
    async restart(): Promise<void> {
      ingest.child.kill('SIGKILL')
      await new Promise((resolve) => ingest.child.once('exit', resolve))
      ingest = await start()
      radioSamples = 0
      otherSamples = 0
    },
    async figure(name: string): Promise<Figure> {
      const counts = await sentRows()
      const sent = sendReasons.map((reason, index) => {
        const count = counts[index] ?? 0
        return { reason, perSample: (count - (reason === 'fresh' ? otherSamples : 0)) / radioSamples }
      })
      const total = sent.reduce((sum, { perSample }) => sum + perSample, 0)
      const parts = sent.map(({ reason, perSample }) => `${reason} ${perSample.toFixed(2)}`).join(', ')
      return { name, value: `${total.toFixed(2)} (${parts}; ${radioSamples} RF samples)`, target }
    },
    async close(): Promise<void> {
      await ingest.stop()
      await rm(logDir, { recursive: true, force: true })
    },
  }
}

const startIngest = (stack: BenchStack, environment: Record<string, string>) =>
  startIngestProcess(stack, {
    environment,
    nodeArguments: ['--import', fileURLToPath(new URL('./stepped-clock.ts', import.meta.url))],
  })

/** Returns the value of a metric in a text of `/metrics`. */
function metric(text: string, name: string): number {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.slice(name.length))
}
