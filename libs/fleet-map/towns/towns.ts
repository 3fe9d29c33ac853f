import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { around } from 'geokdbush'
import KDBush from 'kdbush'
import type { Near, Towns } from '#core/near'
import { mapInSlices } from '#core/slices'
import { distanceM, longitudeDifference, type Point, radians } from '#telemetry/geo/geo'
import type { TownData } from './towns-thread.ts'

/**
 * Towns of the world with at least 1,000 inhabitants, by GeoNames. They are read when they are first needed. `onError` receives
 * why they cannot be read.
 */
export function createTowns(onError: (error: unknown) => void): Towns {
  let reading: Promise<(position: Point) => Near | null> | undefined
  return {
    async near(positions) {
      if (positions.length === 0) return []
      reading ??= readTowns().then(searchOf)
      try {
        return await mapInSlices(positions, await reading)
      } catch (error) {
        reading = undefined
        onError(error)
        return positions.map(() => null)
      }
    },
  }
}

async function readTowns(): Promise<TownData> {
  const thread = new Worker(new URL('./towns-thread.ts', import.meta.url))
  const [data] = (await once(thread, 'message')) as [TownData]
  await thread.terminate()
  return data
}

const searchOf = ({ index: memory, lats, lons, names, countries }: TownData) => {
  const index = KDBush.from(memory)
  return (position: Point): Near | null => {
    const [found] = around(index, position.lon, position.lat, 1)
    if (found === undefined) return null
    const town = { lat: lats[found] ?? 0, lon: lons[found] ?? 0 }
    return {
      name: names[found] ?? '',
      country: countries[found] ?? '',
      distanceKm: Math.round(distanceM(town, position) / 100) / 10,
      bearing: Math.round(initialBearingDeg(town, position)) % 360,
    }
  }
}

/** The direction in which the shortest way begins, in degrees clockwise from north, 0 up to 360. */
function initialBearingDeg(from: Point, to: Point): number {
  const [fromLat, toLat] = [from.lat * radians, to.lat * radians]
  const east = longitudeDifference(from.lon, to.lon) * radians
  const x = Math.cos(fromLat) * Math.sin(toLat) - Math.sin(fromLat) * Math.cos(toLat) * Math.cos(east)
  const bearing = Math.atan2(Math.sin(east) * Math.cos(toLat), x) / radians
  return bearing < 0 ? bearing + 360 : bearing
}
