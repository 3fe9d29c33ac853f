import { performance } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import type { Bench, Figure } from './report.ts'
import { type SeededFleet, seedDeviceTable, seeded, seedMinute, seedRegistry } from './seed-telemetry.ts'
import { type ServedApi, serveApi } from './served-api.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { median, percentile } from './statistics.ts'

const brotli = promisify(brotliCompress)
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const minuteMs = 60_000
const pollMs = 5_000

/** Fleet GPS over HTTP, beside the time it takes to serialize and compress the same answer from memory. */
export const fleetGps: Bench = {
  name: 'fleet-gps',
  about: 'GET /fleet/gps over HTTP, beside serializing and compressing the same answer from memory.',
  async run({ quick }) {
    const sizes = quick ? [2_000] : [10_000, 100_000]
    const figures: Figure[] = []
    for (const devices of sizes) {
      figures.push(...(await withBenchStack((stack) => measure(stack, devices, quick ? 5 : 60, quick ? 5 : 15))))
    }
    return figures
  },
}

async function measure(stack: BenchStack, devices: number, minutes: number, rounds: number): Promise<Figure[]> {
  const fleet = await seedRegistry(stack, devices)
  await seedDeviceTable(stack.questdb, fleet)
  for (let ago = minutes; ago >= 1; ago--) await seedMinute(stack.questdb, fleet, Date.now() - ago * minuteMs)
  await seeded(stack.questdb)
  const api = await serveApi(stack)
  try {
    const name = (what: string) => `${what}, ${devices.toLocaleString('en')} devices`
    const limitMs = devices > 10_000 ? 400 : 100
    const firstMs = await timed(() => read(api, columnar))
    return [
      { name: name('first answer, nothing in memory'), value: `${Math.round(firstMs)} ms` },
      await against(name('full columnar with coverage'), rounds, limitMs, () => read(api, columnar), true),
      await against(name('bbox of a city'), rounds, 60, () => read(api, `${columnar}&bbox=-8.6,51.8,-8.3,52.0`), false),
      await sinceFigure(name('since 5 s ago, a twelfth changed'), stack, api, fleet, rounds),
      await notModifiedFigure(name('304'), api, rounds),
    ]
  } finally {
    await api.close()
  }
}

const columnar = '/fleet/gps?format=columnar'

async function read(api: ServedApi, path: string, headers: Record<string, string> = {}) {
  const answer = await api.get(path, { 'accept-encoding': 'br', ...headers })
  const text = await answer.text()
  if (!answer.ok && answer.status !== 304) throw new Error(`${path} answered ${answer.status}: ${text.slice(0, 200)}`)
  return { text, etag: answer.headers.get('etag') ?? '' }
}

async function against(
  name: string,
  rounds: number,
  targetMs: number,
  get: () => ReturnType<typeof read>,
  isWhole: boolean,
): Promise<Figure> {
  const { text } = await get()
  const value: unknown = JSON.parse(text)
  const served: number[] = []
  const floor: number[] = []
  let bytes = 0
  for (let round = 0; round < rounds; round++) {
    // Answers are shared for a second: each round measures one that has to be made.
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    served.push(await timed(get))
    floor.push(
      await timed(async () => {
        bytes = (await brotli(JSON.stringify(value), brotliOptions)).length
      }),
    )
  }
  const wire = `${(bytes / 1e6).toFixed(2)} MB on the wire of ${(text.length / 1e6).toFixed(1)} MB`
  return {
    name,
    value: `p50 ${median(served).toFixed(0)} ms, p95 ${percentile(served, 95).toFixed(0)} ms; ${wire}; floor p50 ${median(floor).toFixed(0)} ms`,
    ratio: `${(median(served) / median(floor)).toFixed(2)} ×`,
    target: `p95 < ${targetMs} ms${isWhole ? ', < 1.2 MB for 100,000' : ''}`,
  }
}

async function sinceFigure(
  name: string,
  { questdb }: BenchStack,
  api: ServedApi,
  fleet: SeededFleet,
  rounds: number,
): Promise<Figure> {
  const path = '/fleet/gps?format=columnar&include=devices'
  let { asOf } = JSON.parse((await read(api, path)).text)
  const times: number[] = []
  let changed = 0
  for (let round = 0; round < rounds; round++) {
    await seedMinute(questdb, fleet, Date.now(), 1 / 12)
    await seeded(questdb)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
    let text = ''
    times.push(
      await timed(async () => {
        text = (await read(api, `${path}&since=${asOf}`)).text
      }),
    )
    const answer = JSON.parse(text)
    asOf = answer.asOf
    changed = answer.devices.deviceId.length
  }
  return {
    name,
    value: `p50 ${median(times).toFixed(0)} ms, p95 ${percentile(times, 95).toFixed(0)} ms; ${changed} devices`,
    target: '< 50 ms',
  }
}

async function notModifiedFigure(name: string, api: ServedApi, rounds: number): Promise<Figure> {
  const path = '/fleet/gps?format=columnar&include=devices'
  const { etag } = await read(api, path)
  const times: number[] = []
  for (let round = 0; round < rounds * 3; round++) {
    times.push(await timed(() => read(api, path, { 'if-none-match': etag })))
  }
  return {
    name,
    value: `p50 ${median(times).toFixed(1)} ms, p95 ${percentile(times, 95).toFixed(1)} ms`,
    target: '< 5 ms',
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
