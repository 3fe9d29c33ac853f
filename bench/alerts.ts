import { performance } from 'node:perf_hooks'
import type { AlertSystem } from '#alerts/evaluation/changes'
import { evaluateStored } from '#alerts/evaluation/stored'
import { evaluateTelemetry } from '#alerts/evaluation/telemetry'
import type { AlertCondition } from '#alerts/rules/condition'
import { loadPlans } from '#fleet/organizations/plans'
import type { QuestdbSql } from '#questdb/server/sql'
import { newAlertRule } from '../test/support/alert-rules.ts'
import { createJobFleet, type JobFleet } from '../test/support/job-fleet.ts'
import { applied } from '../test/support/telemetry-rows.ts'
import type { Bench, Figure } from './report.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { median } from './statistics.ts'

const minuteMs = 60_000
const storedMinutes = 26
const targetMs = 5_000

/** Rounds of alert evaluation over a large fleet, compared with reading the same rows once. */
export const alerts: Bench = {
  name: 'alerts',
  about:
    'One round of all alert rules in the worker: six rules of different kinds over one fleet with a sample per device and minute, compared with one scan of the same rows.',
  run: ({ quick, devices }) => withBenchStack((stack) => measure(stack, devices ?? (quick ? 10_000 : 100_000))),
}

async function measure({ pool, questdb }: BenchStack, devices: number): Promise<Figure[]> {
  const fleet = await createJobFleet(pool, devices)
  const { organizationId } = fleet
  await seedSamples(questdb, fleet)
  await pool.query(
    `UPDATE device SET last_seen_at = now(), last_fix_at = now(), last_lat = 49 + 3 * random(), last_lon = 7 + 3 * random()`,
  )
  await pool.query('VACUUM ANALYZE device')
  await seedRules(fleet, await seedPlace(pool, organizationId))
  const system: AlertSystem = { pool, plans: await loadPlans(), clock: Date.now }
  const round = async () => (await evaluateStored(system)) + (await evaluateTelemetry(system, [questdb]))
  const scan = async () => {
    await pool.query('SELECT count(*), max(last_seen_at), max(last_fix_at), max(last_lat) FROM device')
    await questdb.query('SELECT device_id, max(ts), last(rsrp_dbm) FROM cellular')
    await questdb.query('SELECT device_id, max(ts), last(temperature_c) FROM system')
    return 0
  }
  const name = (what: string) => `${devices.toLocaleString('en')} devices, 6 rules: ${what}`
  const first = await timed(round)
  const quiet: { rounds: number[]; scans: number[] } = { rounds: [], scans: [] }
  for (let n = 0; n < 5; n++) {
    quiet.rounds.push((await timed(round)).ms)
    quiet.scans.push((await timed(scan)).ms)
  }
  const silence = (count: number) =>
    pool.query(
      `UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE id IN (SELECT id FROM device ORDER BY id LIMIT $1)`,
      [count],
    )
  await silence(Math.round(devices / 100))
  const some = await timed(round)
  await silence(devices)
  const all = await timed(round)
  await pool.query('UPDATE device SET last_seen_at = now()')
  const back = await timed(round)
  const target = `< ${targetMs / 1_000} s`
  const figure = (what: string, { ms, changes }: Timed): Figure => ({
    name: name(what),
    value: `${(ms / 1_000).toFixed(2)} s, ${changes.toLocaleString('en')} changes`,
    target,
  })
  return [
    figure('first round, which stores the baseline', first),
    {
      name: name('nothing changes'),
      value: `${(median(quiet.rounds) / 1_000).toFixed(2)} s`,
      ratio: `${(median(quiet.rounds) / median(quiet.scans)).toFixed(1)} × one scan`,
      target,
    },
    figure('1 % go offline', some),
    { ...figure('the others go offline', all), target: '' },
    { ...figure('all come back', back), target: '' },
  ]
}

type Timed = { ms: number; changes: number }

async function timed(work: () => Promise<number>): Promise<Timed> {
  const startedMs = performance.now()
  const changes = await work()
  return { ms: performance.now() - startedMs, changes }
}

const idsAtOnce = 2_000

/** A cellular and a system sample per device and minute; the signal and the temperature of 1 % of them is always bad. */
async function seedSamples(questdb: QuestdbSql, { organizationId, deviceIds }: JobFleet): Promise<void> {
  await questdb.query('CREATE TABLE alert_bench_device (n INT, id SYMBOL CAPACITY 131072)')
  for (let start = 0; start < deviceIds.length; start += idsAtOnce) {
    const tuples = deviceIds.slice(start, start + idsAtOnce).map((id, n) => `(${start + n}, '${id}')`)
    await questdb.query(`INSERT INTO alert_bench_device VALUES ${tuples.join(', ')}`)
  }
  for (let ago = storedMinutes; ago >= 1; ago--) {
    const at = `dateadd('u', (n % 50000) * 1000, '${new Date(Date.now() - ago * minuteMs).toISOString()}'::timestamp)`
    const insert = (table: string, column: string, value: string) =>
      questdb.query(
        `INSERT INTO ${table} (ts, device_id, org_id, received_at, ts_corrected, ${column})
         SELECT ${at}, id, '${organizationId}', ${at}, false, ${value} FROM alert_bench_device`,
      )
    await insert('cellular', 'rsrp_dbm', '-90 - CASE WHEN n % 100 = 0 THEN 30 ELSE 0 END - round(rnd_double() * 9)')
    await insert('system', 'temperature_c', '40 + CASE WHEN n % 100 = 1 THEN 45 ELSE 0 END + round(rnd_double() * 9)')
  }
  for (const table of ['cellular', 'system']) await applied(questdb, table)
}

async function seedPlace(pool: BenchStack['pool'], organizationId: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO place (id, organization_id, name, area, ring, bounds) VALUES (uuidv7(), $1, 'Port',
       '{"type": "Polygon"}', '((8,50),(9,50),(9,51),(8,51))', '((9,51),(8,50))') RETURNING id`,
    [organizationId],
  )
  return String(rows[0]?.id)
}

async function seedRules(fleet: JobFleet, placeId: string): Promise<void> {
  const conditions: AlertCondition[] = [
    { kind: 'offline', forMinutes: 30 },
    { kind: 'no_fix', forMinutes: 30 },
    { kind: 'entered_place', placeId, forMinutes: 0 },
    { kind: 'left_place', placeId, forMinutes: 0 },
    { kind: 'weak_signal', rsrpBelowDbm: -110, forMinutes: 10 },
    { kind: 'high_temperature', temperatureAboveC: 80, forMinutes: 10 },
  ]
  for (const condition of conditions) await newAlertRule(fleet, condition)
}
