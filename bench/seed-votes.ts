import { cellToParent, latLngToCell } from 'h3-js'
import type { QuestdbSql } from '#questdb/server/sql'
import { importCsv, type SeededFleet } from './seed-telemetry.ts'
import type { BenchStack } from './stack.ts'

const roads = 10
const pointEveryM = 2_000
const cellEveryM = 60
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
export async function seedRoads(stack: BenchStack, fleet: SeededFleet, lengthKm: number): Promise<void> {
  await stack.questdb.query('CREATE TABLE bench_voter (n LONG, id SYMBOL CAPACITY 131072)')
  const voters = fleet.deviceIds.map((id, n) => `${n},${id}`)
  await importCsv(stack, 'bench_voter', ['n,id', ...voters].join('\n'))
  const cells = Array.from({ length: roads }, (_, road) => [
    ...new Set(pointsOf(road, lengthKm, cellEveryM).map(({ lat, lon }) => latLngToCell(lat, lon, 10))),
  ]).flat()
  await stack.questdb.query('CREATE TABLE bench_place (n LONG, h3_10 LONG, h3_5 LONG)')
  const places = cells.map((h3, n) => [n, BigInt(`0x${h3}`), BigInt(`0x${cellToParent(h3, 5)}`)].join())
  await importCsv(stack, 'bench_place', ['n,h3_10,h3_5', ...places].join('\n'))
}

/** Rows of one statement. */
const rowsPerInsert = 1_000_000

/**
 * Generates this number of votes per device, evenly over the last days: two operators with different levels per place, mostly
 * LTE, and some places without service. A device is on all roads, or again and again on its own `routePlaces` consecutive places.
 */
export async function seedVotes(
  questdb: QuestdbSql,
  { organizationId, deviceIds }: SeededFleet,
  size: { days: number; votes: number; routePlaces?: number },
): Promise<void> {
  const [counted] = await questdb.queryArrays<[string]>('SELECT count() FROM bench_place')
  const places = Number(counted?.[0])
  const firstUs = (Math.floor(Date.now() / dayMs) * dayMs - size.days * dayMs) * 1_000
  const everyUs = Math.floor((size.days * dayMs * 1_000) / size.votes)
  const count = deviceIds.length
  const votesAtOnce = Math.max(1, Math.floor(rowsPerInsert / count))
  for (let vote = 0; vote < size.votes; vote += votesAtOnce) {
    const rows = Math.min(votesAtOnce, size.votes - vote) * count
    const [n, x] = [`(x - 1) % ${count}`, `(${vote} + (x - 1) / ${count})`]
    // 7,919 and 15,485,863 are primes: consecutive devices and votes are far from each other.
    const place = size.routePlaces ? `(${x} * 37) % ${size.routePlaces}` : `${x} * 15485863`
    await questdb.query(
      `INSERT INTO cellular (ts, device_id, org_id, received_at, ts_corrected, rat, plmn, rsrp_dbm, sinr_db,
                             align_error_m, cell_id, h3_10, h3_5)
       SELECT v.ts, d.id, '${organizationId}', v.ts, false,
              CASE WHEN p.n % 97 < 3 THEN 'none' WHEN (p.n / 30) % 5 > 0 THEN 'lte' ELSE 'nr-nsa' END,
              CASE WHEN v.n % 3 = 0 THEN '27202' ELSE '27201' END,
              round(-85 - (p.n % 23) - 6 * (v.n % 3) - (rnd_double() + rnd_double()) * 8),
              round((p.n % 13) + rnd_double() * 8), 5.0, (p.n / 30)::string::varchar, p.h3_10, p.h3_5
       FROM (SELECT ${n} n, (${n} * 7919 + ${place}) % ${places} place,
                    (${firstUs} + ${x} * ${everyUs} + (${n} * 300000) % ${everyUs})::timestamp ts
             FROM long_sequence(${rows})) v
       JOIN bench_voter d ON d.n = v.n JOIN bench_place p ON p.n = v.place`,
    )
  }
  await questdb.query("SELECT wait_wal_table('cellular')")
}
