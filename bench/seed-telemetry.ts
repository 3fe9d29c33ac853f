import type { QuestdbSql } from '#questdb/sql'
import type { BenchStack } from './stack.ts'

export type SeededFleet = { organizationId: string; deviceIds: string[] }

/** An organization with that many devices in the registry. */
export async function seedRegistry({ pool }: BenchStack, devices: number): Promise<SeededFleet> {
  const { rows: organizations } = await pool.query<{ id: string }>(
    "INSERT INTO organization (id, name, plan) VALUES (uuidv7(), 'Bench', 'enterprise') RETURNING id",
  )
  const organizationId = String(organizations[0]?.id)
  const { rows } = await pool.query<{ id: string }>(
    `WITH created AS (
       INSERT INTO device (id, organization_id, serial, name, model, status)
       SELECT uuidv7(), $1, 'RF' || n, 'Bus ' || n, 'RX-500', 'online' FROM generate_series(1, $2::int) n RETURNING id
     ), owned AS (
       INSERT INTO device_ownership (device_id, organization_id, owned_from) SELECT id, $1, now() FROM created
     )
     SELECT id FROM created`,
    [organizationId, devices],
  )
  return { organizationId, deviceIds: rows.map(({ id }) => id) }
}

const idsAtOnce = 2_000

/** Tells QuestDB the ids, so that it can make up rows for them by itself. */
export async function seedDeviceTable(questdb: QuestdbSql, fleet: SeededFleet): Promise<void> {
  await questdb.query('CREATE TABLE bench_device (n INT, id SYMBOL CAPACITY 131072)')
  for (let start = 0; start < fleet.deviceIds.length; start += idsAtOnce) {
    const tuples = fleet.deviceIds.slice(start, start + idsAtOnce).map((id, index) => `(${start + index}, '${id}')`)
    await questdb.query(`INSERT INTO bench_device VALUES ${tuples.join(', ')}`)
  }
}

/**
 * One location and one cellular sample of every `1/share`-th device at a moment, around a city, as a router would send
 * them: positions to a millionth of a degree, signal in tenths of a dB.
 */
export async function seedMinute(
  questdb: QuestdbSql,
  { organizationId }: SeededFleet,
  atMs: number,
  share = 1,
): Promise<void> {
  const at = `dateadd('u', (n % 50000) * 1000, '${new Date(atMs).toISOString()}'::timestamp)`
  const some = share === 1 ? '' : ` WHERE n % ${Math.round(1 / share)} = 0`
  const lat = 'round(51.5 + (n % 317) * 0.002 + rnd_double() * 0.002, 6)'
  const lon = 'round(-8.9 + (n % 311) * 0.003 + rnd_double() * 0.003, 6)'
  await questdb.query(
    `INSERT INTO location (ts, device_id, org_id, received_at, ts_corrected, lat, lon, fix, accuracy_m, speed_mps, heading_deg, usable)
     SELECT ${at}, id, '${organizationId}', ${at}, false, ${lat}, ${lon}, '3d', 5.0, round(rnd_double() * 20, 1), round(rnd_double() * 359), true
     FROM bench_device${some}`,
  )
  await questdb.query(
    `INSERT INTO cellular (ts, device_id, org_id, received_at, ts_corrected, rat, plmn, operator_name, rsrp_dbm, rsrq_db, sinr_db,
       aligned_lat, aligned_lon, alignment, align_error_m, h3_10, h3_5)
     SELECT ${at}, id, '${organizationId}', ${at}, false, rnd_symbol('lte', 'nr-sa'), '27201', 'Tel',
       round(-75 - rnd_double() * 40), -11.0, round(rnd_double() * 20), ${lat}, ${lon}, 'exact', 5.0,
       622236700000000000 + (n % 4000) * 32768, 599685771850416127
     FROM bench_device${some}`,
  )
}

/** Waits until queries see everything written. */
export async function seeded(questdb: QuestdbSql): Promise<void> {
  for (const table of ['location', 'cellular']) await questdb.query(`SELECT wait_wal_table('${table}')`)
}
