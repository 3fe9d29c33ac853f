import { performance } from 'node:perf_hooks'
import type { QuestdbSql } from '#questdb/server/sql'
import { parentCell } from '#questdb/votes/coverage-source'
import { placeSegments } from '#telemetry/coverage/forecast'
import { routeSegments } from '#telemetry/geo/route-path'
import { refreshCoverage } from '../test/support/telemetry-rows.ts'
import type { Bench, Figure } from './report.ts'
import { seedRegistry } from './seed-telemetry.ts'
import { roadPath, seedRoads, seedVotes } from './seed-votes.ts'
import { type ServedApi, serveApi } from './served-api.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { median, percentile } from './statistics.ts'

type Size = { devices: number; votesPerDevice: number; rounds: number; unmeasured: number }

const quickSize: Size = { devices: 2_000, votesPerDevice: 30, rounds: 5, unmeasured: 1 }
const fullSize: Size = { devices: 100_000, votesPerDevice: 30, rounds: 30, unmeasured: 10 }

const routeKm = 500
const everyM = 100
const minutes = 43_200
const days = 30

/** The forecast of a long route over HTTP, compared with plain SQL that counts the votes of its finest cells. */
export const forecast: Bench = {
  name: 'forecast',
  about:
    'POST /fleet/forecast, 500 km in segments of 100 m, a month of votes on ten such roads, after ten forecasts of another road, compared with plain SQL over the finest cells.',
  async run({ quick, devices }) {
    const size = quick ? quickSize : { ...fullSize, devices: devices ?? fullSize.devices }
    return withBenchStack((stack) => measure(stack, size))
  },
}

async function measure(stack: BenchStack, size: Size): Promise<Figure[]> {
  const { questdb } = stack
  const { rounds, devices } = size
  const fleet = await seedRegistry(stack, devices)
  await seedRoads(stack, fleet, routeKm)
  await seedVotes(questdb, fleet, { days, votes: size.votesPerDevice })
  await refreshCoverage(questdb, 20 * 60_000)
  const api = await serveApi(stack)
  const [path, otherPath] = [roadPath(0, routeKm), roadPath(1, routeKm)]
  const ask = (sinceMinutes: number, along = path) => ({
    path: along.map(({ lat, lon }) => [lon, lat]),
    orgId: fleet.organizationId,
    everyM,
    sinceMinutes,
  })
  const name = (what: string) => `${devices.toLocaleString('en')} devices: ${what}`
  try {
    const [cold, floor, warm]: [number[], number[], number[]] = [[], [], []]
    // Forecasts of another road, so that all code is compiled, as in a service that has run for some minutes.
    for (let round = 0; round < size.unmeasured; round++) {
      await api.post('/fleet/forecast', ask(minutes - round, otherPath))
      await countFinest(questdb, fleet.organizationId, otherPath)
    }
    for (let round = 0; round < rounds; round++) {
      // A different window is not in the cache.
      cold.push(await timed(() => api.post('/fleet/forecast', ask(minutes - round))))
      floor.push(await timed(() => countFinest(questdb, fleet.organizationId, path)))
      warm.push(await timed(() => api.post('/fleet/forecast', ask(minutes - round))))
    }
    return [
      { name: name('votes, segments'), value: await describe(questdb, api, ask(minutes)) },
      {
        ...figure(name('first forecast of a route, empty cache'), cold, 'p95 < 300 ms'),
        ratio: `${(median(cold) / median(floor)).toFixed(2)} ×`,
      },
      figure(name('same route within a minute'), warm, 'p95 < 300 ms'),
      figure(name('plain SQL: votes of the finest cells'), floor),
    ]
  } finally {
    await api.close()
  }
}

const figure = (name: string, timesMs: readonly number[], target = ''): Figure => ({
  name,
  value: `p50 ${median([...timesMs]).toFixed(0)} ms, p95 ${percentile([...timesMs], 95).toFixed(0)} ms`,
  target,
})

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

async function describe(questdb: QuestdbSql, api: ServedApi, body: unknown): Promise<string> {
  const [counted] = await questdb.queryArrays<[string]>('SELECT count() FROM coverage_vote_1m')
  const { bytes } = await api.post('/fleet/forecast', body)
  const { segments, summary } = JSON.parse(bytes.toString()) as { segments: unknown[]; summary: { knownM: number } }
  return `${Number(counted?.[0]).toLocaleString('en')} votes, ${segments.length} segments, ${Math.round(summary.knownM / 1_000)} km known, ${(bytes.length / 1e6).toFixed(1)} MB`
}

/** Counts the votes of the finest cells in the hourly view, the minimum that a forecast needs. */
async function countFinest(
  questdb: QuestdbSql,
  organizationId: string,
  path: readonly { lat: number; lon: number }[],
): Promise<void> {
  const cells = new Set(placeSegments(routeSegments(path, everyM)).map(({ cells }) => cells[0] ?? ''))
  const longs = [...cells].map((h3) => BigInt(`0x${h3}`))
  await questdb.queryArrays(
    `SELECT ${parentCell(10)} cell, rat, plmn, rsrp_bin, sum(votes) FROM coverage_1h
     WHERE org_id = $1 AND h3_10 IN (${longs.join(', ')}) GROUP BY cell, rat, plmn, rsrp_bin`,
    [organizationId],
  )
}
