import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { seededMap } from '../seeded-map.ts'

const everything = 129_600

/** Returns a distinct box of this size in degrees within the seeded area. */
function someBox(size: number): string {
  const lon = -9 + Math.random() * 1.2
  const lat = 51 + Math.random() * 0.4
  return [lon, lat, lon + size, lat + size].map((degrees) => degrees.toFixed(9)).join(',')
}

/** Reads that process much more data than they return. */
function readsOf({ organizationId, deviceIds }: { organizationId: string; deviceIds: readonly string[] }) {
  const all = `orgId=${organizationId}&sinceMinutes=${everything}`
  const deviceId = () => deviceIds[Math.floor(Math.random() * deviceIds.length)]
  return [
    () => `/fleet/dwells?limit=1&bbox=${someBox(1e-6)}&${all}`,
    () => `/fleet/dwells?limit=1&bbox=0,0,1,1&${all}`,
    () => `/fleet/dwells?limit=200&minDurationS=1000000&${all}`,
    () => `/fleet/trips?limit=200&${all}`,
    () => `/fleet/coverage?bbox=${someBox(0.5)}&${all}`,
    () => `/fleet/coverage?h3Resolution=10&bbox=${someBox(1)}&${all}`,
    () => `/fleet/coverage?h3Resolution=10&${all}`,
    () => `/fleet/coverage?h3Resolution=10&plmn=${10_000 + Math.floor(Math.random() * 90_000)}&${all}`,
    () => `/fleet/signal-trend?plmn=${10_000 + Math.floor(Math.random() * 90_000)}&${all}`,
    () => `/fleet/operators?bbox=${someBox(1)}&${all}`,
    () => `/fleet/gps?h3Resolution=10&${all}`,
    () => `/fleet/gps?include=coverage&h3Resolution=10&format=geojson&bbox=${someBox(1)}&${all}`,
    () => `/fleet/gps?include=trails,devices&${all}`,
    () => `/devices?q=${encodeURIComponent('%_'.repeat(50))}`,
    () => `/devices?q=${'0-'.repeat(20)}&limit=200&orgId=${organizationId}`,
    () => `/api/router/${deviceId()}/telemetry/history?stepSeconds=1&limit=10000&sinceMinutes=${everything}`,
    () => `/api/router/${deviceId()}/telemetry/history?format=ndjson&sinceMinutes=${everything}`,
  ]
}

/** Invalid numbers, tokens and boxes. */
const oddities: readonly string[] = [
  '/fleet/dwells?minDurationS=1e300',
  '/fleet/dwells?minDurationS=9007199254740993',
  '/fleet/dwells?from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z',
  '/fleet/dwells?sinceMinutes=1e300',
  '/fleet/dwells?limit=1e9',
  '/fleet/gps?since=deadbeef-0-zzzzzzzzzzz',
  '/fleet/gps?since=0-0-0',
  '/fleet/gps?since=-1--1--1',
  '/fleet/gps?since=%00',
  '/fleet/gps?zoom=1e308',
  '/fleet/gps?zoom=-0&cluster=true',
  `/fleet/gps?bbox=-180,-90,180,90.${'0'.repeat(3_000)}`,
  `/fleet/gps?bbox=${'9'.repeat(4_000)},0,0,0`,
  '/fleet/gps?bbox=180,0,-180,0',
  '/fleet/coverage?h3Resolution=10.0000000001',
  `/fleet/gps?tag=${'a'.repeat(65)}`,
  `/devices?${Array.from({ length: 500 }, (_, index) => `tag=t${index}`).join('&')}`,
  `/devices?cursor=${'A'.repeat(2_000)}`,
  '/devices?limit=-1',
  '/devices?limit=0x10',
  '/devices?q=%F0%9F%98%80%F0%9F%98%80',
  '/devices/%00',
  '/orgs/%ff/usage',
]

/** Callers with a valid key request everything and disconnect before the response. */
export const unboundedReads: Attack = {
  name: 'unbounded-reads',
  about: 'dwells, coverage, maps and history without bounds, a new box each time, half of them aborted after 100 ms',
  prepare: seededMap,
  async run(target, { quick, signal }) {
    const map = await seededMap(target)
    const client = openAttackerClient(signal)
    const headers = { authorization: `Bearer ${map.adminKey}` }
    const reads = readsOf(map)
    const endMs = Date.now() + (quick ? 8_000 : 120_000)
    const failed: string[] = []
    let number = 0

    async function get(path: string, leaveAfterMs?: number): Promise<void> {
      const leaving = leaveAfterMs === undefined ? {} : { signal: AbortSignal.timeout(leaveAfterMs) }
      const answer = await client.call({ url: `${target.url}${path}`, headers, ...leaving })
      if (answer && answer.status >= 500 && answer.status !== 503) failed.push(`${answer.status} ${path.slice(0, 100)}`)
    }
    const attack = async (index: number) => {
      while (Date.now() < endMs && !signal.aborted) {
        await get(reads[number++ % reads.length]?.() ?? '/', index % 2 === 0 ? 100 : undefined)
      }
    }
    try {
      await Promise.all(oddities.map((path) => get(path)))
      await Promise.all(Array.from({ length: 32 }, (_, index) => attack(index)))
      return {
        answers: client.answers,
        findings: [
          { what: 'no 5xx except 503', held: failed.length === 0, detail: failed.slice(0, 5).join('; ') || 'none' },
        ],
      }
    } finally {
      client.close()
    }
  },
}
