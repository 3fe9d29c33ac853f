import { setTimeout as pause } from 'node:timers/promises'
import { type Kind, kinds } from '#telemetry/report/fields'
import { newOrganization, newReportingDevices } from '../test/support/reporting-device.ts'
import { cpuSecondsOfTree } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { minuteSamples } from './samples.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { percentile } from './statistics.ts'
import { type IngestLoad, startIngestLoad, startMinuteLoad } from './steady-load.ts'

const reportEveryMs = { least: 200, most: 1_000 }
const pollMs = 20
const visibleLimitMs = 30_000
const firstReportsMs = 2_000
const warmUpMs = 10_000

/** The time from the acceptance of a sample until queries return it. */
export const freshness: Bench = {
  name: 'freshness',
  about:
    'Time from the 202 of a report until queries return its samples of all four kinds, under the load of 1,200 routers that report once a minute, and under a heavy one.',
  run: ({ quick }) => withBenchStack((stack) => measure(stack, quick)),
}

async function measure(stack: BenchStack, quick: boolean): Promise<Figure[]> {
  const light = await underLoad(stack, await startMinuteLoad(stack, 1_200), (quick ? 15 : 90) * 1_000)
  const samplesPerSecond = quick ? 5_000 : 20_000
  const half = await underLoad(stack, await startIngestLoad(stack, samplesPerSecond), (quick ? 15 : 45) * 1_000)
  return [
    { name: 'light load, 80 samples/s', value: shownWaits(light.waitsMs), target: 'p95 ≤ 3,000 ms' },
    {
      name: `${samplesPerSecond.toLocaleString('en')} samples/s`,
      value: shownWaits(half.waitsMs),
      target: 'p99 ≤ 2,000 ms',
    },
    {
      name: 'CPU of QuestDB for a sample of it, without queries, µs',
      value: ((1e6 * half.questdbCores) / samplesPerSecond).toFixed(1),
    },
  ]
}

export const shownWaits = (waitsMs: readonly number[]) => {
  const at = (percent: number) => `${Math.round(percentile(waitsMs, percent)).toLocaleString('en')} ms`
  return `p50 ${at(50)}, p95 ${at(95)}, p99 ${at(99)} of ${waitsMs.length} reports`
}

/** Measures after a warm-up, in which nothing asks QuestDB, and ends the load. */
async function underLoad(stack: BenchStack, load: IngestLoad, forMs: number) {
  try {
    await pause(firstReportsMs)
    const before = cpuSecondsOfTree(stack.pids.questdb)
    await pause(warmUpMs)
    const questdbCores = (cpuSecondsOfTree(stack.pids.questdb) - before) / (warmUpMs / 1_000)
    return { waitsMs: await freshnessMs(stack, load.ingest.port, forMs), questdbCores }
  } finally {
    await load.stop()
  }
}

/** Reports from one more router at random times. Returns how long each report waited, in milliseconds. */
export async function freshnessMs(stack: BenchStack, port: number, forMs: number): Promise<number[]> {
  const [device] = await newReportingDevices(stack.pool, await newOrganization(stack.pool), 1)
  if (!device) throw new Error('The device was not registered.')
  const untilMs = performance.now() + forMs
  const waiting: { tsMs: number; acceptedAtMs: number }[] = []
  const waitsMs: number[] = []
  let isReporting = true

  async function reportNow(token: string): Promise<void> {
    while (performance.now() < untilMs) {
      const tsMs = Date.now()
      const answer = await fetch(`http://127.0.0.1:${port}/telemetry`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ samples: minuteSamples(tsMs, 1) }),
      })
      await answer.arrayBuffer()
      if (answer.status !== 202) throw new Error(`The report was answered with ${answer.status}.`)
      waiting.push({ tsMs, acceptedAtMs: performance.now() })
      await pause(reportEveryMs.least + Math.random() * (reportEveryMs.most - reportEveryMs.least))
    }
    isReporting = false
  }

  async function watch(deviceId: string): Promise<void> {
    while (isReporting || waiting.length > 0) {
      const newest = await Promise.all(kinds.map((kind) => newestMs(stack, kind, deviceId)))
      const nowMs = performance.now()
      const visibleMs = Math.min(...newest)
      while (waiting[0] && waiting[0].tsMs <= visibleMs) waitsMs.push(nowMs - (waiting.shift()?.acceptedAtMs ?? nowMs))
      if (waiting[0] && nowMs - waiting[0].acceptedAtMs > visibleLimitMs) throw new Error('A report is not visible.')
      await pause(pollMs)
    }
  }

  await Promise.all([reportNow(device.token), watch(device.id)])
  return waitsMs
}

/**
 * Returns the time of the newest visible sample of a kind; 0 if there is none. Not by LATEST ON beside the indexed filter:
 * repeated while rows arrive, it crashes the JVM of QuestDB 9.3.4 within two minutes.
 */
async function newestMs({ questdb }: BenchStack, kind: Kind, deviceId: string): Promise<number> {
  const [row] = await questdb.query<{ ts: number }>(
    `SELECT ts FROM ${kind} WHERE device_id = $1 ORDER BY ts DESC LIMIT 1`,
    [deviceId],
  )
  return row?.ts ?? 0
}
