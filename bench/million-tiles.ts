import { setTimeout as pause } from 'node:timers/promises'
import { place } from './places.ts'
import type { Figure } from './report.ts'
import type { ServedApi } from './served-api.ts'
import { percentile } from './statistics.ts'

const zooms = [0, 3, 5, 7, 9, 11, 13, 14]
/** The live map reads new telemetry every few seconds. */
const changedAfterMs = 6_000
const leastBetweenMs = 12
const readsPerTile = 3

/** Tiles around devices, from the whole fleet to a street, while the fleet reports. */
export async function tileFigures(api: ServedApi, organizationId: string, rounds: number): Promise<Figure[]> {
  const [warmMs, changedMs, bytes]: [number[], number[], number[]] = [[], [], []]
  const firstMs = await timed(() => api.get(tilePath(organizationId, 0, 0)))
  for (let round = 0; round < rounds; round++) {
    const paths = zooms.map((zoom) => tilePath(organizationId, zoom, round))
    const etags = new Map<string, string | undefined>()
    for (const path of paths) {
      const { headers, bytes: body } = await api.get(path, { 'accept-encoding': 'gzip' })
      etags.set(path, headers.etag)
      bytes.push(body.length)
      for (let read = 0; read < readsPerTile; read++) {
        warmMs.push(await timed(() => api.get(path, { 'accept-encoding': 'gzip' })))
        await pause(leastBetweenMs)
      }
    }
    await pause(changedAfterMs)
    for (const path of paths) {
      const startMs = performance.now()
      const { headers } = await api.get(path, { 'accept-encoding': 'gzip' })
      const ms = performance.now() - startMs
      if (headers.etag !== etags.get(path)) changedMs.push(ms)
      await pause(leastBetweenMs)
    }
  }
  const p95 = (times: readonly number[]) => `p95 ${percentile(times, 95).toFixed(1)} ms of ${times.length}`
  return [
    { name: 'tiles: the first, empty cache', value: `${Math.round(firstMs)} ms` },
    { name: 'tiles: warm', value: p95(warmMs), target: 'p95 < 50 ms' },
    { name: 'tiles: after a change', value: p95(changedMs), target: 'p95 < 150 ms' },
    { name: 'tiles: largest, gzip', value: `${Math.round(Math.max(...bytes) / 1e3)} KB`, target: '≤ 200 KB' },
  ]
}

export function tilePath(organizationId: string, zoom: number, round: number): string {
  const { lat, lon } = place(round * 7919)
  const count = 2 ** zoom
  const radians = (lat * Math.PI) / 180
  const x = Math.floor(((lon + 180) / 360) * count)
  const y = Math.floor(((1 - Math.asinh(Math.tan(radians)) / Math.PI) / 2) * count)
  return `/fleet/tiles/${zoom}/${x}/${y}.mvt?orgId=${organizationId}`
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
