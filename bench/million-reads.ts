import { setTimeout as pause } from 'node:timers/promises'
import type { MillionFleet } from './million-fleet.ts'
import type { Figure } from './report.ts'
import type { ServedApi } from './served-api.ts'
import { median, percentile } from './statistics.ts'

/** Below the rate limit of the key. */
const leastBetweenMs = 12
const devicesPerImport = 1_000

type Case = { name: string; path: (round: number) => string; target?: string; rounds: number }

/** Lists, searches, counts, an import and an export. */
export async function registryFigures(api: ServedApi, fleet: MillionFleet, rounds: number): Promise<Figure[]> {
  const { organizationId, groupId } = fleet
  const devices = `/devices?orgId=${organizationId}`
  const list = (name: string, filter: string): Case => ({
    ...{ name: `list: ${name}`, path: () => devices + filter, target: 'p99 < 25 ms', rounds },
  })
  const search = (name: string, q: string): Case => ({
    ...{ name: `search: ${name}`, path: () => `${devices}&q=${encodeURIComponent(q)}`, target: 'p99 < 60 ms', rounds },
  })
  const few = Math.max(3, rounds / 20)
  const cases: Case[] = [
    list('newest', ''),
    list('by status', '&status=offline'),
    list('by tags', '&tag=depot-3&tag=night'),
    search('a frequent word', 'bus'),
    search('a rare word', 'oslo 77'),
    search('part of a serial', '0000079'),
    search('two characters', 'rf'),
    search('nothing', 'zzzqqq'),
    { name: 'list: members of the group', path: () => `/orgs/${organizationId}/groups/${groupId}/devices`, rounds },
    { name: 'groups with their counts', path: () => `/orgs/${organizationId}/groups`, rounds: few },
  ]
  const figures: Figure[] = []
  for (const one of cases) figures.push(await figureOf(api, one))
  return [...figures, await importFigure(api, organizationId, few), await exportFigure(api, fleet)]
}

/** The map with filters, and what changed. */
export async function mapFigures(api: ServedApi, fleet: MillionFleet, rounds: number): Promise<Figure[]> {
  const scope = `/fleet/gps?format=columnar&include=devices&orgId=${fleet.organizationId}`
  const drawn = '&fields=name,status,location.lat,location.lon,signal.rsrpDbm,signal.quality'
  const firstMs = await timed(() => read(api, `${scope}${drawn}&deviceId=${fleet.deviceIds[0]}`))
  const box = (round: number) => {
    const [lon, lat] = [2 + (round % 10), 45 + (round % 10)]
    return `&bbox=${lon},${lat},${lon + 0.5},${lat + 0.3}`
  }
  const figures: Figure[] = [{ name: 'map: first response, empty cache', value: `${Math.round(firstMs)} ms` }]
  const cases: Case[] = [
    { name: 'map: bbox of a city', path: (round) => scope + drawn + box(round), rounds },
    { name: 'map: tag and bbox', path: (round) => `${scope}${drawn}&tag=night${box(round)}`, rounds },
    {
      name: 'map: group and bbox',
      path: (round) => `${scope}${drawn}&groupId=${fleet.groupId}${box(round)}`,
      rounds: 5,
    },
    { name: 'map: clusters of all devices at zoom 5', path: () => `${scope}${drawn}&cluster=true&zoom=5`, rounds: 5 },
    {
      name: 'coverage of all devices at zoom 5',
      path: () => `/fleet/coverage?zoom=5&orgId=${fleet.organizationId}`,
      rounds: 5,
    },
  ]
  for (const one of cases) figures.push(await figureOf(api, one))
  return [...figures, await sinceFigure(api, scope + drawn, 3)]
}

/** What a map that polls every five seconds receives while one device of 300 reports each second. */
async function sinceFigure(api: ServedApi, path: string, rounds: number): Promise<Figure> {
  const bodyOf = async (query: string) => JSON.parse(String(await read(api, path + query))) as { asOf: string }
  let { asOf } = await bodyOf('&tag=no-such-tag')
  const times: number[] = []
  const bytes: number[] = []
  for (let round = 0; round < rounds; round++) {
    await pause(5_000)
    const startMs = performance.now()
    const answer = await read(api, `${path}&since=${encodeURIComponent(asOf)}`)
    times.push(performance.now() - startMs)
    bytes.push(answer.length)
    asOf = (JSON.parse(String(answer)) as { asOf: string }).asOf
  }
  return {
    name: 'map: since 5 s ago',
    value: `${shown(times)}; ${Math.round(median(bytes) / 1e3).toLocaleString('en')} KB`,
    target: 'p95 < 50 ms',
  }
}

async function figureOf(api: ServedApi, { name, path, target, rounds }: Case): Promise<Figure> {
  const times: number[] = []
  const warmUps = Math.min(5, rounds / 5)
  for (let round = -warmUps; round < rounds; round++) {
    const ms = await timed(() => read(api, path(round + warmUps)))
    if (round >= 0) times.push(ms)
    await pause(leastBetweenMs)
  }
  return { name, value: shown(times), ...(target && { target }) }
}

async function importFigure(api: ServedApi, organizationId: string, rounds: number): Promise<Figure> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const lines = Array.from({ length: devicesPerImport }, (_, index) => {
      const serial = `IMPORT-${round}-${index}`
      return JSON.stringify({ serial, name: serial, model: 'RX-500', tags: ['imported'] })
    })
    const path = `/devices/import?orgId=${organizationId}`
    times.push(await timed(() => api.post(path, lines.join('\n'), { 'content-type': 'application/x-ndjson' })))
  }
  return { name: `import of ${devicesPerImport.toLocaleString('en')} devices`, value: shown(times) }
}

async function exportFigure(api: ServedApi, { organizationId, deviceIds }: MillionFleet): Promise<Figure> {
  const startMs = performance.now()
  const bytes = await read(api, `/devices/export?format=csv&orgId=${organizationId}`)
  const seconds = (performance.now() - startMs) / 1_000
  const rows = bytes.reduce((count, byte) => (byte === 0x0a ? count + 1 : count), 0) - 1
  if (rows < deviceIds.length) throw new Error(`The export has ${rows} of ${deviceIds.length} devices.`)
  return { name: `export of ${rows.toLocaleString('en')} devices`, value: `${seconds.toFixed(1)} s` }
}

const read = async (api: ServedApi, path: string): Promise<Buffer> => (await api.get(path)).bytes

const shown = (times: readonly number[]): string => {
  const at = (percent: number) => `${percentile(times, percent).toFixed(1)} ms`
  return `p50 ${at(50)}, p95 ${at(95)}, p99 ${at(99)} of ${times.length}`
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
