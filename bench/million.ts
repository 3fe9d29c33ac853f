import { setTimeout as pause } from 'node:timers/promises'
import { errorText } from '#core/error-text'
import { hasRedis, startRedis } from '#test/redis'
import { memoryFigures } from './device-memory.ts'
import { type MillionFleet, questdbHeapBytes, seedMillion } from './million-fleet.ts'
import { restartFigures, steadyFigures, untilFlat } from './million-ingest.ts'
import { groupJobFigures } from './million-jobs.ts'
import { findingFigures, pageFigures } from './million-page.ts'
import { panningFigures } from './million-panning.ts'
import { mapFigures, registryFigures } from './million-reads.ts'
import { tileFigures } from './million-tiles.ts'
import { forkApp, ownMegabytes, stopChild } from './processes.ts'
import type { Bench, Figure } from './report.ts'
import { type ServedApi, serveApi } from './served-api.ts'
import { type AppProcess, type BenchStack, startIngestProcess, withBenchStack } from './stack.ts'
import { sendReports } from './steady-load.ts'
import { timed } from './timed.ts'
import { pathCpuFigures } from './whole-path.ts'

const intervalS = 300
const samplesPerReport = 4
const secondMs = 1_000

type Size = {
  devices: number
  memoryDevices: number
  rounds: number
  steadyS: number
  warmS: number
  panMinutes: number
}
const quickSize: Size = { devices: 20_000, memoryDevices: 10_000, rounds: 10, steadyS: 15, warmS: 0, panMinutes: 0.25 }
const fullSize: Size = {
  devices: 1_000_000,
  memoryDevices: 40_000,
  rounds: 100,
  steadyS: 30,
  warmS: intervalS,
  panMinutes: 0.25,
}

/** What a fleet of a million devices costs on one machine. */
export const million: Bench = {
  name: 'million',
  byNameOnly: true,
  about:
    'One organization of 1,000,000 devices on one machine. Each device reports one sample of each kind every five minutes during all measurements. The memory of a device is measured in processes of their own, without databases (--devices N: another number of devices; --quick: 20,000; --minutes N: minutes of panning in the page).',
  async run({ quick, devices, minutes }) {
    const usual = quick ? quickSize : fullSize
    const size = { ...usual, devices: devices ?? usual.devices, panMinutes: minutes ?? usual.panMinutes }
    const memory = await section('memory of a device', () => memoryFigures(size.memoryDevices))
    const served = await withBenchStack((stack) => onOneMachine(stack, size), { questdbHeapBytes })
    const path = await section('CPU of ingest and writer for a row', () => withBenchStack(pathCpuFigures))
    return [...memory, ...served, ...path]
  },
}

async function onOneMachine(own: BenchStack, size: Size): Promise<Figure[]> {
  const redis = (await hasRedis()) ? await startRedis() : undefined
  const stack = { ...own, environment: { ...own.environment, ...(redis && { REDIS_URL: redis.url }) } }
  const fleet = await timed('fleet', () => seedMillion(stack, size.devices))
  let ingest = await startIngestProcess(stack)
  const api = await serveApi(stack, ingest.port)
  const worker = forkApp('worker', { ...stack.environment, PORT: '0' })
  const reportsPerSecond = size.devices / intervalS
  const samplesPerSecond = reportsPerSecond * samplesPerReport
  const { tokens } = fleet
  const load = sendReports({ port: ingest.port, tokens, reportsPerSecond, shape: 'spread' })
  try {
    // Each device has then reported, so ingest holds all states, as in a fleet that has run for a while.
    await pause(size.warmS * secondMs)
    await timed('reports of the warm-up stored', () => untilFlat(ingest, { samplesPerSecond, limitS: size.warmS }))
    const steady = { samplesPerSecond, forMs: size.steadyS * secondMs, load }
    const figures = await section('freshness', () => steadyFigures(stack, ingest, steady))
    figures.push(...(await readFigures(stack, api, fleet, size)))
    figures.push(...processFigures({ ingest, api, size }))
    figures.push(
      ...(await section('restart of ingest', async () => {
        const restarted = await restartFigures(stack, ingest, samplesPerSecond)
        ingest = restarted.ingest
        return restarted.figures
      })),
    )
    return figures
  } finally {
    await load.stop()
    await stopChild(worker)
    await api.close()
    await ingest.stop()
    await redis?.stop()
  }
}

async function readFigures(stack: BenchStack, api: ServedApi, fleet: MillionFleet, size: Size): Promise<Figure[]> {
  const { organizationId } = fleet
  const { rounds } = size
  const few = Math.max(2, Math.floor(rounds / 33))
  const pages = Math.max(2, rounds / 50)
  const sections: [name: string, work: () => Promise<Figure[]>][] = [
    ['map', () => mapFigures(api, fleet, rounds)],
    ['tiles', () => tileFigures(api, organizationId, few)],
    ['page', () => pageFigures(api, pages)],
    ['finding', () => findingFigures(api, fleet, few * 5)],
    ['panning', () => panningFigures(api, size.panMinutes)],
    ['registry', () => registryFigures(api, fleet, rounds)],
    ['group job', () => groupJobFigures(stack, api, fleet, rounds * 50)],
  ]
  const figures: Figure[] = []
  for (const [name, work] of sections) figures.push(...(await section(name, work)))
  return figures
}

/** Memory of the whole processes, with garbage and caches. */
function processFigures(run: { ingest: AppProcess; api: ServedApi; size: Size }): Figure[] {
  const of = (name: string, pid: number): Figure => {
    const megabytes = ownMegabytes(pid)
    const each = Math.round((megabytes * 1024 ** 2) / run.size.devices).toLocaleString('en')
    return {
      name: `${name}: memory of the process with garbage and caches`,
      value: `${megabytes} MB, ${each} bytes a device`,
    }
  }
  return [of('ingest', run.ingest.pid), of('control plane', run.api.pid)]
}

/** A section that fails does not end the run. Its figures are printed at once, because the whole run is long. */
async function section(name: string, work: () => Promise<Figure[]>): Promise<Figure[]> {
  const figures = await timed(name, work).catch((error: unknown) => [{ name, value: `failed: ${errorText(error)}` }])
  for (const figure of figures) console.error(`  ${figure.name}: ${figure.value}`)
  return figures
}
