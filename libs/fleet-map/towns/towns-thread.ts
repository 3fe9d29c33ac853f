import { parentPort } from 'node:worker_threads'
import KDBush from 'kdbush'
// In a thread, because reading all takes a third of a second and 50 MB.
import { inhabitedTowns as towns } from './inhabited-towns.ts'

/** The towns of GeoNames with their positions, ready to search. `index` is the memory of a KDBush. */
export type TownData = {
  index: ArrayBuffer
  lats: Float64Array
  lons: Float64Array
  names: string[]
  countries: string[]
}

const index = new KDBush(towns.length)
for (const { loc } of towns) index.add(loc.coordinates[0], loc.coordinates[1])
index.finish()
const data: TownData = {
  index: index.data as ArrayBuffer,
  lats: Float64Array.from(towns, ({ loc }) => loc.coordinates[1]),
  lons: Float64Array.from(towns, ({ loc }) => loc.coordinates[0]),
  names: towns.map(({ name }) => name),
  countries: towns.map(({ country }) => country),
}
parentPort?.postMessage(data, [data.index, data.lats.buffer as ArrayBuffer, data.lons.buffer as ArrayBuffer])
