import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompressSync } from 'node:zlib'
import { refreshCoverage } from '../test/support/telemetry-rows.ts'
import type { Bench, Figure } from './report.ts'
import { type SeededFleet, seedDeviceTable, seeded, seedMinute, seedRegistry } from './seed-telemetry.ts'
import { type ServedApi, serveApi } from './served-api.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { median, percentile } from './statistics.ts'
import { startIngestLoad } from './steady-load.ts'

const compress = promisify(zstdCompress)
const compression = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const minuteMs = 60_000
const pollMs = 5_000

type Size = { devices: number; minutes: number; rounds: number; samplesPerSecond: number; targetMs: number }

const quickSizes: Size[] = [{ devices: 2_000, minutes: 5, rounds: 5, samplesPerSecond: 1_000, targetMs: 100 }]
const fullSizes: Size[] = [
  { devices: 10_000, minutes: 10, rounds: 30, samplesPerSecond: 10_000, targetMs: 100 },
  { devices: 100_000, minutes: 5, rounds: 30, samplesPerSecond: 10_000, targetMs: 400 },
]

/** The fields that a map draws for each device, without those for a selected device. */
const drawn = 'fields=name,status,location.lat,location.lon,signal.rsrpDbm,signal.quality'
const columnar = '/fleet/gps?format=columnar'

/** Fleet GPS over HTTP, compared with serializing and compressing the same response from memory. */
export const fleetGps: Bench = {
  name: 'fleet-gps',
  about:
    'GET /fleet/gps over HTTP (zstd) while ingest accepts reports, compared with serializing and compressing the same response from memory.',
  async run({ quick, devices, minutes }) {
    const figures: Figure[] = []
    const sizes = quick ? quickSizes : fullSizes.filter((size) => devices === undefined || size.devices === devices)
    if (sizes.length === 0) throw new Error('There are figures for 10000 and 100000 devices.')
    for (const size of sizes.map((size) => ({ ...size, minutes: minutes ?? size.minutes }))) {
      figures.push(...(await withBenchStack((stack) => measure(stack, size))))
    }
    return figures
  },
}

async function measure(stack: BenchStack, size: Size): Promise<Figure[]> {
  const { devices, rounds, targetMs } = size
  const fleet = await seedRegistry(stack, devices)
  await seedDeviceTable(stack, fleet)
  for (let ago = size.minutes; ago >= 1; ago--) await seedMinute(stack.questdb, fleet, Date.now() - ago * minuteMs)
  await seeded(stack.questdb)
  await refreshCoverage(stack.questdb, 10 * minuteMs)
  const load = await startIngestLoad(stack, size.samplesPerSecond)
  const api = await serveApi(stack, load.ingest.port)
  const scope = `&orgId=${fleet.organizationId}`
  const name = (what: string) => `${devices.toLocaleString('en')} devices: ${what}`
  try {
    return [
      {
        name: name('first response, empty cache'),
        value: `${(await timed(() => read(api, columnar + scope))).toFixed(0)} ms`,
      },
      await against(
        name('full columnar with coverage'),
        api,
        columnar + scope,
        rounds,
        `p95 < ${targetMs} ms, < 1.2 MB`,
      ),
      await against(name('fields that a map draws'), api, `${columnar}${scope}&include=devices&${drawn}`, rounds),
      await against(name('bbox of a city'), api, `${columnar}${scope}&bbox=-8.5,51.85,-8.4,51.93`, rounds, '< 60 ms'),
      await sinceFigure(name('since 5 s ago, one twelfth changed'), stack, api, fleet, rounds / 2),
      await notModifiedFigure(name('304'), api, `${columnar}${scope}&include=devices`, rounds),
      {
        name: name('ingest meanwhile'),
        value: `${size.samplesPerSecond} samples/s, ${load.refused()} reports refused`,
      },
    ]
  } finally {
    await api.close()
    await load.stop()
  }
}

async function read(api: ServedApi, path: string, headers: Record<string, string> = {}) {
  const { headers: answered, bytes } = await api.get(path, { 'accept-encoding': 'zstd', ...headers })
  return { etag: answered.etag ?? '', isZstd: answered['content-encoding'] === 'zstd', bytes }
}

const textOf = ({ bytes, isZstd }: { bytes: Buffer; isZstd: boolean }): string =>
  (isZstd ? zstdDecompressSync(bytes) : bytes).toString()

async function against(name: string, api: ServedApi, path: string, rounds: number, target?: string): Promise<Figure> {
  const first = await read(api, path)
  const text = textOf(first)
  const value: unknown = JSON.parse(text)
  const served: number[] = []
  const floor: number[] = []
  for (let round = 0; round < rounds; round++) {
    // Responses are shared for one second, so each round waits and measures a new one.
    await pause(1_100)
    served.push(await timed(() => read(api, path)))
    floor.push(await timed(() => compress(JSON.stringify(value), compression)))
  }
  const wire = `${(first.bytes.length / 1e6).toFixed(2)} MB on the wire of ${(text.length / 1e6).toFixed(1)} MB`
  return {
    name,
    value: `p50 ${median(served).toFixed(0)} ms, p95 ${percentile(served, 95).toFixed(0)} ms; ${wire}; floor p50 ${median(floor).toFixed(0)} ms`,
    ratio: `${(median(served) / median(floor)).toFixed(2)} ×`,
    ...(target && { target }),
  }
}

async function sinceFigure(
  name: string,
  { questdb }: BenchStack,
  api: ServedApi,
  fleet: SeededFleet,
  rounds: number,
): Promise<Figure> {
  const path = `${columnar}&orgId=${fleet.organizationId}&include=devices`
  let { asOf } = JSON.parse(textOf(await read(api, path)))
  const times: number[] = []
  const changed: number[] = []
  for (let round = 0; round < rounds; round++) {
    await seedMinute(questdb, fleet, Date.now(), 1 / 12)
    await seeded(questdb)
    await pause(pollMs)
    const startMs = performance.now()
    const answer = await read(api, `${path}&since=${asOf}`)
    times.push(performance.now() - startMs)
    const body = JSON.parse(textOf(answer))
    asOf = body.asOf
    changed.push(body.devices.deviceId.length)
  }
  return {
    name,
    value: `p50 ${median(times).toFixed(0)} ms, p95 ${percentile(times, 95).toFixed(0)} ms; ${median(changed)} devices`,
    target: '< 50 ms',
  }
}

async function notModifiedFigure(name: string, api: ServedApi, path: string, rounds: number): Promise<Figure> {
  const times: number[] = []
  let unmodified = 0
  let { etag } = await read(api, path)
  for (let round = 0; round < rounds * 3; round++) {
    const startMs = performance.now()
    const answer = await api.get(path, { 'accept-encoding': 'zstd', 'if-none-match': etag })
    times.push(performance.now() - startMs)
    if (answer.status === 304) unmodified++
    etag = answer.headers.etag ?? etag
    await pause(100)
  }
  if (unmodified === 0) throw new Error('No response was 304.')
  return {
    name,
    value: `p50 ${median(times).toFixed(1)} ms, p95 ${percentile(times, 95).toFixed(1)} ms; ${unmodified} of ${times.length}`,
    target: '< 5 ms',
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
