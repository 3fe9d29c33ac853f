import type { Product } from './product.ts'
import { type ReportedVan, registerVan } from './reported-van.ts'

/** How often the van stopped. It drove on after each stop, so it made as many trips. */
export const stops = 52

const minuteMs = 60_000
const standsMinutes = 10
const roundMinutes = 15
const samplesPerReport = 1_000

/** Creates a van that stood without service at places 1 km apart in the last hours, and drove between them. */
export async function reportStops(product: Product): Promise<ReportedVan> {
  const van = await registerVan(product, 'Van of many stops')
  const startMs = Date.now() - stops * roundMinutes * minuteMs
  const samples = Array.from({ length: stops * roundMinutes }, (_, index) => {
    const since = index % roundMinutes
    const way = Math.floor(index / roundMinutes) + Math.max(0, since - standsMinutes + 1) / 6
    const at = { ts: startMs + index * minuteMs, lat: 58 + way * 0.009, lon: -4, accuracyM: 5 }
    const radio = since < standsMinutes ? { rat: 'none' } : { rat: 'lte', plmn: '23410', rsrpDbm: -90, sinrDb: 9 }
    return [
      { kind: 'location', ...at, fix: '3d' },
      { kind: 'cellular', ...at, fixAgeMs: 0, ...radio },
    ]
  }).flat()
  for (let first = 0; first < samples.length; first += samplesPerReport)
    await van.report(samples.slice(first, first + samplesPerReport))
  return van
}
