import { setTimeout as pause } from 'node:timers/promises'
import { forkApp, ownMegabytes, stopChild } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { type ServedApi, serveApi } from './served-api.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { median } from './statistics.ts'
import { startMinuteLoad } from './steady-load.ts'
import { storedFigures } from './stored-samples.ts'

const minuteMs = 60_000
const readEveryMs = 5_000

/** Checks that the memory of every process remains constant under the load of a large fleet for a long time, and nothing is lost. */
export const soak: Bench = {
  name: 'soak',
  about:
    'Memory of every process while each device reports one sample of each kind per minute, and readers poll the fleet map, latest and history. Then the stored samples are counted (--minutes N).',
  byNameOnly: true,
  run: ({ quick, devices = quick ? 2_000 : 100_000, minutes = quick ? 1 : 60 }) =>
    withBenchStack((stack) => measure(stack, devices, minutes)),
}

async function measure(stack: BenchStack, devices: number, minutes: number): Promise<Figure[]> {
  const load = await startMinuteLoad(stack, devices)
  const api = await serveApi(stack, load.ingest.port)
  try {
    const { deviceIds } = load.fleet
    const memory = await soakFigures(stack, {
      ...{ ingestPid: load.ingest.pid, api, minutes, refused: load.refused },
      paths: (round) => pagePaths(deviceIds[(round * 7919) % deviceIds.length] ?? ''),
    })
    await load.stopSending()
    const stored = await storedFigures(stack, load.ingest)
    return [...memory, ...stored, { name: 'reports not accepted', value: load.whyRefused() }]
  } finally {
    await api.close()
    await load.stop()
  }
}

/** The requests of a map page and an integration. */
const pagePaths = (deviceId: string): string[] => [
  '/fleet/gps?format=columnar',
  '/fleet/coverage?zoom=9',
  `/api/router/${deviceId}/telemetry/latest`,
  `/api/router/${deviceId}/telemetry/history`,
]

/** What to watch, for how long, how many reports were not accepted, and what readers request in each round. */
type SoakOrder = {
  ingestPid: number
  api: ServedApi
  minutes: number
  refused: () => number
  paths: (round: number) => string[]
}

/** The memory of every process, while a worker runs and readers repeat their requests. */
export async function soakFigures(
  stack: BenchStack,
  { ingestPid, api, minutes, refused, paths }: SoakOrder,
): Promise<Figure[]> {
  const worker = forkApp('worker', { ...stack.environment, PORT: '0' })
  const pids: Record<string, number> = {
    'control plane': api.pid,
    ingest: ingestPid,
    worker: worker.pid ?? 0,
    questdb: stack.pids.questdb,
    postgres: stack.pids.postgres,
  }
  const names = Object.keys(pids)
  const series = new Map<string, number[]>(names.map((name) => [name, []]))
  let isOver = false
  const readers = readOn(api, paths, () => isOver)
  try {
    const intervalMs = Math.max(10_000, (minutes * minuteMs) / 30)
    const endMs = Date.now() + minutes * minuteMs
    const columns = ['minute', ...names.map((name) => `${name} MB`), 'reports not accepted']
    console.log(`| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}`)
    for (const startMs = Date.now(); Date.now() < endMs; ) {
      await pause(intervalMs)
      const megabytes = names.map((name) => ownMegabytes(pids[name] ?? 0))
      const ended = names.filter((_, index) => megabytes[index] === 0)
      if (ended.length > 0) throw new Error(`${ended.join(' and ')} ended after ${minutesSince(startMs)} minutes.`)
      for (const [index, name] of names.entries()) series.get(name)?.push(megabytes[index] ?? Number.NaN)
      console.log(`| ${[minutesSince(startMs), ...megabytes, refused().toLocaleString('en')].join(' | ')} |`)
    }
    console.log('')
    isOver = true
    const failed = await readers
    const growths = names.map((name) => growthOf(name, series.get(name) ?? []))
    return [...growths, { name: 'requests of readers that failed', value: String(failed), target: '0' }]
  } finally {
    isOver = true
    await stopChild(worker)
  }
}

const minutesSince = (startMs: number) => ((Date.now() - startMs) / minuteMs).toFixed(1)

/** Compares the second third with the last. The first is the warm-up. */
function growthOf(name: string, megabytes: number[]): Figure {
  const third = Math.ceil(megabytes.length / 3)
  const [before, after] = [median(megabytes.slice(third, 2 * third)), median(megabytes.slice(2 * third))]
  return {
    name,
    value: `${before.toFixed(0)} MB in the middle third, ${after.toFixed(0)} MB in the last`,
    ratio: `${(after / before).toFixed(2)} ×`,
    target: 'flat',
  }
}

/** Returns how many requests failed. */
async function readOn(api: ServedApi, paths: SoakOrder['paths'], isOver: () => boolean): Promise<number> {
  let failed = 0
  for (let round = 0; !isOver(); round++) {
    for (const path of paths(round)) {
      await api.get(path, { 'accept-encoding': 'zstd' }).catch((error: unknown) => {
        failed += 1
        console.error(error instanceof Error ? error.message : error)
      })
    }
    await pause(readEveryMs)
  }
  return failed
}
