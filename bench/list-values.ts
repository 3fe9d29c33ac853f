import { performance } from 'node:perf_hooks'
import { measureDataUse } from '#alerts/data-use/measure'
import { loadPlans } from '#fleet/organizations/plans'
import type { Bench, Figure } from './report.ts'
import { type SeededFleet, seedDeviceTable, seeded, seedRegistry } from './seed-telemetry.ts'
import { serveApi } from './served-api.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { median } from './statistics.ts'

/** Samples of each device, one a minute. */
const sampledMinutes = 60

/** Lists of a large fleet by data use and nearest town, and how long the worker needs to measure an hour of counters. */
export const listValues: Bench = {
  name: 'list-values',
  about:
    'GET /devices of one organization by data use and nearest town over HTTP, compared with a page by name, and the measurement of a day with one hour of minutes.',
  run: ({ quick, devices = quick ? 5_000 : 100_000 }) => withBenchStack((stack) => measure(stack, devices)),
}

async function measure(stack: BenchStack, devices: number): Promise<Figure[]> {
  const fleet = await seedRegistry(stack, devices)
  const measuring = await measureHour(stack, fleet)
  await seedMonth(stack, fleet)
  const api = await serveApi(stack)
  try {
    const list = (query: string) => api.get(`/devices?orgId=${fleet.organizationId}&limit=50${query}`)
    const byName = await timedMedian(() => list('&sort=name'))
    const figures = [measuring]
    for (const query of [
      '&sort=-dataMonth&include=dataUse',
      '&sort=near&include=near',
      '&near=berlin',
      '&minMonthBytes=3000000',
    ])
      figures.push(await listFigure(query, list, byName))
    return figures
  } finally {
    await api.close()
  }
}

type List = (query: string) => Promise<unknown>

async function listFigure(query: string, list: List, byNameMs: number): Promise<Figure> {
  const firstMs = await timed(() => list(query))
  const laterMs = await timedMedian(() => list(query))
  return {
    name: `list ${query.slice(1)}`,
    value: `first ${firstMs.toFixed(0)} ms, then p50 ${laterMs.toFixed(0)} ms; by name ${byNameMs.toFixed(0)} ms`,
    ratio: `${(laterMs / byNameMs).toFixed(1)} ×`,
    target: '< 600 ms at 100,000',
  }
}

/** Stores an hour of counters and measures the day. */
async function measureHour(stack: BenchStack, fleet: SeededFleet): Promise<Figure> {
  const { questdb, pool } = stack
  await seedDeviceTable(stack, fleet)
  const day = new Date().toISOString().slice(0, 10)
  for (let minute = 0; minute < sampledMinutes; minute++)
    await questdb.query(
      `INSERT INTO connection (ts, device_id, org_id, received_at, ts_corrected, modem, interface, state, rx_bytes, tx_bytes)
       SELECT dateadd('s', ${minute * 60}, '${day}T00:00:00Z'::timestamp), id, '${fleet.organizationId}', now(), false, 'wwan0', 'wwan0',
         'connected', ${minute} * 50000.0 + n, ${minute} * 9000.0 + n FROM bench_device`,
    )
  await seeded(questdb)
  // Only the present day is due.
  await pool.query(
    `INSERT INTO data_use_day (organization_id, day, measured_at)
     SELECT $1, day, now() FROM generate_series(date_trunc('month', $2::date), $2::date - 1, '1 day') AS day`,
    [fleet.organizationId, day],
  )
  const tookMs = await timed(async () => measureDataUse({ pool, plans: await loadPlans(), clock: Date.now }, [questdb]))
  const { rows } = await pool.query<{ readMs: number }>('SELECT max(took_ms) AS "readMs" FROM data_use_day')
  const samples = fleet.deviceIds.length * sampledMinutes
  const readMs = rows[0]?.readMs ?? 0
  return {
    name: `measure ${samples} samples`,
    value: `${(tookMs / 1_000).toFixed(1)} s, of which QuestDB ${(readMs / 1_000).toFixed(1)} s`,
    ratio: `${(samples / readMs / 1_000).toFixed(1)} million samples/s`,
  }
}

const devicesPerStatement = 5_000

/** Positions around the towns of Europe, and a month of data use. */
async function seedMonth({ pool }: BenchStack, { organizationId, deviceIds }: SeededFleet): Promise<void> {
  for (let first = 0; first < deviceIds.length; first += devicesPerStatement) {
    const some = deviceIds.slice(first, first + devicesPerStatement)
    await pool.query(
      'UPDATE device SET last_lat = 42 + random() * 14, last_lon = -4 + random() * 25, last_fix_at = now() WHERE id = ANY ($1::uuid[])',
      [some],
    )
    await pool.query(
      `INSERT INTO device_data_use (organization_id, device_id, day, bytes)
       SELECT $1, id, day, 1e5 * random() FROM unnest($2::uuid[]) AS id,
         generate_series(date_trunc('month', now())::date, date_trunc('month', now())::date + 30, '1 day') AS day
       ON CONFLICT DO NOTHING`,
      [organizationId, some],
    )
  }
  await pool.query('VACUUM ANALYZE device')
  await pool.query('ANALYZE device_data_use')
}

const rounds = 9

async function timedMedian(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) times.push(await timed(work))
  return median(times)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
