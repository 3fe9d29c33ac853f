import { cellToParent, latLngToCell } from 'h3-js'
import { seedDevices } from '#test/seed-devices'
import { applied, refreshCoverage } from '#test/telemetry-rows'
import type { Target } from './target.ts'
import { createTenant } from './tenant.ts'

/** An organization with devices, dwells and coverage for expensive reads. */
export type SeededMap = { organizationId: string; adminKey: string; deviceIds: readonly string[] }

const deviceCount = 500
const cellCount = 20_000
const tuplesAtOnce = 2_000

const known = new WeakMap<Target, Promise<SeededMap>>()

/** Seeds the target at the first call: 500 devices, 20,000 cells of coverage and 100,000 dwells of the last 30 days. */
export function seededMap(target: Target): Promise<SeededMap> {
  const seeding = known.get(target) ?? seed(target)
  known.set(target, seeding)
  return seeding
}

async function seed(target: Target): Promise<SeededMap> {
  const { pool, questdb, url, adminKey } = target
  const { organizationId, adminKey: key } = await createTenant(url, adminKey, 'Crowd', 0)
  const deviceIds = await seedDevices(pool, organizationId, deviceCount)
  await pool.query("UPDATE device_ownership SET owned_from = now() - interval '60 days' WHERE organization_id = $1", [
    organizationId,
  ])
  await questdb.query('CREATE TABLE attack_cell (n INT, id SYMBOL, lat DOUBLE, lon DOUBLE, h3_10 LONG, h3_5 LONG)')
  const tuples = Array.from({ length: cellCount }, (_, n) => {
    const lat = 51 + Math.floor(n / 200) * 0.004
    const lon = -9 + (n % 200) * 0.006
    const h3 = latLngToCell(lat, lon, 10)
    const [fine, coarse] = [h3, cellToParent(h3, 5)].map((cell) => BigInt(`0x${cell}`))
    return `(${n}, '${deviceIds[n % deviceCount]}', ${lat}, ${lon}, ${fine}, ${coarse})`
  })
  for (let start = 0; start < cellCount; start += tuplesAtOnce) {
    await questdb.query(`INSERT INTO attack_cell VALUES ${tuples.slice(start, start + tuplesAtOnce).join(', ')}`)
  }
  await questdb.query(
    `INSERT INTO cellular (ts, device_id, org_id, received_at, rat, plmn, rsrp_dbm, sinr_db,
       aligned_lat, aligned_lon, alignment, align_error_m, h3_10, h3_5)
     SELECT dateadd('s', -4 * n, now()), id, '${organizationId}', now(), 'lte', '27201', -80 - n % 40, 5.0,
       lat, lon, 'exact', 5.0, h3_10, h3_5 FROM attack_cell ORDER BY 1`,
  )
  await questdb.query(
    `INSERT INTO dwell (ts, device_id, org_id, received_at, id, departed_at, first_outside_at, last_inside_at,
       lat, lon, radius_m, fix_count, gap, withdrawn)
     SELECT dateadd('s', -25 * n - 500000 * (x::int - 1), now()) ts, id, '${organizationId}', now(), 'd' || n || '-' || x,
       dateadd('s', 600 - 25 * n - 500000 * (x::int - 1), now()), dateadd('s', 610 - 25 * n - 500000 * (x::int - 1), now()),
       dateadd('s', 600 - 25 * n - 500000 * (x::int - 1), now()), lat, lon, 30.0, 20, false, false
     FROM attack_cell CROSS JOIN long_sequence(5) ORDER BY ts`,
  )
  await applied(questdb, 'cellular')
  await applied(questdb, 'dwell')
  target.seeded.rows += cellCount
  await refreshCoverage(questdb, 60_000)
  return { organizationId, adminKey: key, deviceIds }
}

/** Adds this number of system samples to a device of the seeded organization, one per second up to now. */
export async function seedHistory(target: Target, deviceId: string, samples: number): Promise<void> {
  const { organizationId } = await seededMap(target)
  await target.questdb.query(
    `INSERT INTO system (ts, device_id, org_id, received_at, cpu_pct)
     SELECT dateadd('s', -x::int, now()) ts, '${deviceId}', '${organizationId}', now(), 5.0
     FROM long_sequence(${samples}) ORDER BY ts`,
  )
  await applied(target.questdb, 'system')
  target.seeded.rows += samples
}
