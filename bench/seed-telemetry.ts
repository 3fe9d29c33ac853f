import { cellToParent, latLngToCell } from 'h3-js'
import type { QuestdbSql } from '#questdb/server/sql'
import { waitUntilApplied } from '#questdb/server/wal-tables'
import type { Kind } from '#telemetry/report/fields'
import type { BenchStack } from './stack.ts'

export type SeededFleet = { organizationId: string; deviceIds: string[] }

/** A busy machine must finish a statement within its time limit. */
const devicesPerStatement = 10_000

/** Creates an organization with this number of devices. */
export async function seedRegistry({ pool }: BenchStack, devices: number): Promise<SeededFleet> {
  const { rows: organizations } = await pool.query<{ id: string }>(
    "INSERT INTO organization (id, name, plan) VALUES (uuidv7(), 'Bench', 'enterprise') RETURNING id",
  )
  const organizationId = String(organizations[0]?.id)
  const deviceIds: string[] = []
  for (let first = 1; first <= devices; first += devicesPerStatement) {
    const { rows } = await pool.query<{ id: string }>(
      `WITH created AS (
         INSERT INTO device (id, organization_id, serial, name, model, status)
         SELECT uuidv7(), $1, 'RF' || n, 'Bus ' || n, 'RX-500', 'online' FROM generate_series($2::int, $3::int) n RETURNING id
       ), owned AS (
         INSERT INTO device_ownership (device_id, organization_id, owned_from) SELECT id, $1, now() FROM created
       )
       SELECT id FROM created`,
      [organizationId, first, Math.min(devices, first + devicesPerStatement - 1)],
    )
    for (const { id } of rows) deviceIds.push(id)
  }
  // Postgres does this by itself a minute later. Until then, it plans for empty tables.
  await pool.query('ANALYZE device, device_ownership')
  return { organizationId, deviceIds }
}

const rowsPerImport = 100_000
const appliedWithinMs = 10 * 60_000

const aroundCity = (n: number) => ({ lat: 51.5 + (n % 317) * 0.002, lon: -8.9 + (n % 311) * 0.003 })

/** Stores the devices and their positions in QuestDB, so that SQL can generate their rows. */
export async function seedDeviceTable(stack: BenchStack, fleet: SeededFleet, placeOf = aroundCity): Promise<void> {
  await stack.questdb.query(
    'CREATE TABLE bench_device (n INT, id VARCHAR, lat DOUBLE, lon DOUBLE, h3_10 LONG, h3_5 LONG)',
  )
  for (let start = 0; start < fleet.deviceIds.length; start += rowsPerImport) {
    const lines = fleet.deviceIds.slice(start, start + rowsPerImport).map((id, index) => {
      const { lat, lon } = placeOf(start + index)
      const h3 = latLngToCell(lat, lon, 10)
      return [start + index, id, lat, lon, BigInt(`0x${h3}`), BigInt(`0x${cellToParent(h3, 5)}`)].join()
    })
    await importCsv(stack, 'bench_device', ['n,id,lat,lon,h3_10,h3_5', ...lines].join('\n'))
  }
}

/** QuestDB reads CSV many times as fast as statements with the same rows. */
export async function importCsv({ environment }: BenchStack, table: string, csv: string): Promise<void> {
  const { QUESTDB_URL, QUESTDB_USER, QUESTDB_PASSWORD } = environment
  const form = new FormData()
  form.append('data', new Blob([csv]))
  const answer = await fetch(`${QUESTDB_URL}/imp?name=${table}&forceHeader=true&atomicity=abort&fmt=json`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${QUESTDB_USER}:${QUESTDB_PASSWORD}`)}` },
    body: form,
  })
  const { status, rowsRejected } = (await answer.json()) as { status: string; rowsRejected?: number }
  if (status !== 'OK' || rowsRejected !== 0) throw new Error(`QuestDB did not import ${table}: ${status}`)
}

/**
 * Generates one sample of each kind for every `1/share`-th device at a given time, as a router sends them: positions with six
 * decimals, signal in whole dB around the level of the place.
 */
export async function seedMinute(
  questdb: QuestdbSql,
  { organizationId, deviceIds }: SeededFleet,
  atMs: number,
  share = 1,
): Promise<void> {
  // Within 50 s, and in the order of the rows, which QuestDB then appends.
  const devicesPerMs = Math.ceil(deviceIds.length / 50_000)
  const at = `dateadd('u', (n / ${devicesPerMs}) * 1000, '${new Date(atMs).toISOString()}'::timestamp)`
  const some = share === 1 ? '' : ` WHERE n % ${Math.round(1 / share)} = 0`
  const lat = 'round(lat + rnd_double() * 0.0005, 6)'
  const lon = 'round(lon + rnd_double() * 0.0005, 6)'
  const insert = (kind: Kind, columns: string, values: string) =>
    questdb.query(
      `INSERT INTO ${kind} (ts, device_id, org_id, received_at, ts_corrected, ${columns})
       SELECT ${at}, id, '${organizationId}', ${at}, false, ${values} FROM bench_device${some}`,
    )
  await insert(
    'location',
    'lat, lon, fix, accuracy_m, speed_mps, heading_deg, usable',
    `${lat}, ${lon}, '3d', 5.0, round(rnd_double() * 20, 1), round(rnd_double() * 359), true`,
  )
  await insert(
    'cellular',
    'rat, plmn, operator_name, rsrp_dbm, rsrq_db, sinr_db, aligned_lat, aligned_lon, alignment, align_error_m, h3_10, h3_5',
    `rnd_symbol('lte', 'nr-sa'), '27201', 'Tel', round(-80 - (n % 31) - rnd_double() * 8), -11.0,
     round((n % 17) + rnd_double() * 4), ${lat}, ${lon}, 'exact', 5.0, h3_10, h3_5`,
  )
  await insert('system', 'cpu_pct, mem_used_pct, uptime_s', 'round(rnd_double() * 100), 40.0, 1000.0')
  await insert('connection', 'state, latency_ms, loss_pct', "'connected', round(rnd_double() * 90), 0.0")
}

/** Waits until queries return all written rows. A million devices take minutes on a busy machine. */
export async function seeded(questdb: QuestdbSql): Promise<void> {
  if (!(await waitUntilApplied(questdb, appliedWithinMs))) throw new Error('QuestDB did not apply the rows.')
}
