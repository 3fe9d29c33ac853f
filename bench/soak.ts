import { fork } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ownMegabytes, stopChild } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { type ServedApi, serveApi } from './served-api.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { median } from './statistics.ts'
import { startMinuteLoad } from './steady-load.ts'

const minuteMs = 60_000
const readEveryMs = 5_000

/** Checks that the memory of every process remains constant under the load of a large fleet for a long time. */
export const soak: Bench = {
  name: 'soak',
  about:
    'Memory of every process while each device reports one sample of each kind per minute, and readers poll the fleet map, latest and history.',
  byNameOnly: true,
  run: ({ quick, devices = quick ? 2_000 : 100_000, minutes = quick ? 1 : 60 }) =>
    withBenchStack((stack) => measure(stack, devices, minutes)),
}

async function measure(stack: BenchStack, devices: number, minutes: number): Promise<Figure[]> {
  const load = await startMinuteLoad(stack, devices)
  const api = await serveApi(stack, load.ingest.port)
  const worker = fork(fileURLToPath(new URL('../apps/worker/main.ts', import.meta.url)), {
    env: { ...process.env, ...stack.environment, PORT: '0' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const pids: Record<string, number> = {
    'control plane': api.pid,
    ingest: load.ingest.pid,
    worker: worker.pid ?? 0,
    questdb: stack.pids.questdb,
    postgres: stack.pids.postgres,
  }
  const names = Object.keys(pids)
  const series = new Map<string, number[]>(names.map((name) => [name, []]))
  let isOver = false
  const readers = readOn(api, load.fleet.deviceIds, () => isOver)
  try {
    const intervalMs = Math.max(10_000, (minutes * minuteMs) / 30)
    const endMs = Date.now() + minutes * minuteMs
    console.log(`| minute | ${names.map((name) => `${name} MB`).join(' | ')} |\n|${'---|'.repeat(names.length + 1)}`)
    for (const startMs = Date.now(); Date.now() < endMs; ) {
      await pause(intervalMs)
      const megabytes = names.map((name) => ownMegabytes(pids[name] ?? 0))
      const ended = names.filter((_, index) => megabytes[index] === 0)
      if (ended.length > 0) throw new Error(`${ended.join(' and ')} ended after ${minutesSince(startMs)} minutes.`)
      for (const [index, name] of names.entries()) series.get(name)?.push(megabytes[index] ?? Number.NaN)
      console.log(`| ${minutesSince(startMs)} | ${megabytes.join(' | ')} |`)
    }
    console.log('')
  } finally {
    isOver = true
    await readers
    await stopChild(worker)
    await api.close()
    await load.stop()
  }
  return [
    ...names.map((name) => growthOf(name, series.get(name) ?? [])),
    { name: 'reports refused', value: String(load.refused()) },
  ]
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

/** Repeats the requests of a map page and an integration. */
async function readOn(api: ServedApi, deviceIds: readonly string[], isOver: () => boolean): Promise<void> {
  for (let round = 0; !isOver(); round++) {
    const deviceId = deviceIds[(round * 7919) % deviceIds.length]
    for (const path of [
      '/fleet/gps?format=columnar',
      '/fleet/coverage?zoom=9',
      `/api/router/${deviceId}/telemetry/latest`,
      `/api/router/${deviceId}/telemetry/history`,
    ]) {
      await api.get(path, { 'accept-encoding': 'zstd' })
    }
    await pause(readEveryMs)
  }
}
