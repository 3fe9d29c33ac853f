import { cellToParent, latLngToCell } from 'h3-js'
import type { QuestdbSql } from '#questdb/server/sql'
import type { SeededFleet } from './seed-telemetry.ts'

const roads = 10
const pointEveryM = 2_000
const cellEveryM = 60
const rowsAtOnce = 2_000
const dayMs = 86_400_000

/** Returns a winding road eastwards with a point every 2 km. Roads are half a degree apart. */
export function roadPath(road: number, lengthKm: number): { lat: number; lon: number }[] {
  return pointsOf(road, lengthKm, pointEveryM)
}

function pointsOf(road: number, lengthKm: number, everyM: number): { lat: number; lon: number }[] {
  // The bends make the road about 10 % longer than its width.
  return Array.from({ length: Math.ceil((lengthKm * 1_000) / everyM) + 1 }, (_, index) => {
    const km = (index * everyM) / 1_000
    const lat = 45 + road * 0.5 + Math.sin(km / 30) * 0.1
    return { lat, lon: (km * 0.95) / (111.195 * Math.cos((lat * Math.PI) / 180)) }
  })
}

/** Inserts the devices and the cells along the roads into QuestDB, so that SQL can generate votes. */
export async function seedRoads(questdb: QuestdbSql, fleet: SeededFleet, lengthKm: number): Promise<void> {
  await questdb.query('CREATE TABLE bench_voter (n LONG, id SYMBOL CAPACITY 131072)')
  await insertAll(
    questdb,
    'bench_voter',
    fleet.deviceIds.map((id, n) => `(${n}, '${id}')`),
  )
  const cells = Array.from({ length: roads }, (_, road) => [
    ...new Set(pointsOf(road, lengthKm, cellEveryM).map(({ lat, lon }) => latLngToCell(lat, lon, 10))),
  ]).flat()
  await questdb.query('CREATE TABLE bench_place (n LONG, h3_10 LONG, h3_5 LONG)')
  await insertAll(
    questdb,
    'bench_place',
    cells.map((h3, n) => `(${n}, ${BigInt(`0x${h3}`)}, ${BigInt(`0x${cellToParent(h3, 5)}`)})`),
  )
}

async function insertAll(questdb: QuestdbSql, table: string, tuples: readonly string[]): Promise<void> {
  for (let start = 0; start < tuples.length; start += rowsAtOnce) {
    await questdb.query(`INSERT INTO ${table} VALUES ${tuples.slice(start, start + rowsAtOnce).join(', ')}`)
  }
}

/**
 * Generates this number of votes per device, distributed over the last days and all roads: two operators with different
 * levels per place, mostly LTE, and some places without service.
 */
export async function seedVotes(
  questdb: QuestdbSql,
  { organizationId }: SeededFleet,
  size: { days: number; votes: number },
): Promise<void> {
  const [counted] = await questdb.queryArrays<[string]>('SELECT count() FROM bench_place')
  const places = Number(counted?.[0])
  const firstMs = Math.floor(Date.now() / dayMs) * dayMs - size.days * dayMs
  for (let vote = 0; vote < size.votes; vote++) {
    const from = new Date(firstMs + Math.floor((vote * size.days * dayMs) / size.votes)).toISOString()
    await questdb.query(
      `INSERT INTO cellular (ts, device_id, org_id, received_at, ts_corrected, rat, plmn, rsrp_dbm, sinr_db,
                             align_error_m, cell_id, h3_10, h3_5)
       SELECT dateadd('u', (v.n * 300000)::int, '${from}'::timestamp), v.id, '${organizationId}',
              '${from}'::timestamp, false,
              CASE WHEN p.n % 97 < 3 THEN 'none' WHEN rnd_double() < 0.8 THEN 'lte' ELSE 'nr-nsa' END,
              CASE WHEN v.n % 3 = 0 THEN '27202' ELSE '27201' END,
              round(-85 - (p.n % 23) - 6 * (v.n % 3) - (rnd_double() + rnd_double()) * 8),
              round((p.n % 13) + rnd_double() * 8), 5.0, (p.n / 30)::string::varchar, p.h3_10, p.h3_5
       FROM (SELECT n, id, (n * 7919 + ${vote * 15_485_863}) % ${places} place FROM bench_voter) v
       JOIN bench_place p ON p.n = v.place`,
    )
  }
  await questdb.query("SELECT wait_wal_table('cellular')")
}
