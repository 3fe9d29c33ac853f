import type { Clock } from '#core/clock'
import type { Near, Towns } from '#core/near'
import { createSharedReads } from '#core/shared-reads'
import { forEachInSlices } from '#core/slices'
import type { LiveFilter } from '#fleet/devices/live-filter'
import type { ListSource } from '#fleet-map/device-list/list-source'
import { cacheBytes } from '#fleet-map/memory-limits'
import { townText } from '#fleet-map/towns/town-text'
import type { FairPool } from '#postgres/fair-pool'

/** The last position of a device and the town that is nearest to it. Devices of a town share `town`. */
type Placed = { lat: number; lon: number; town: TownName | null }

/** `text`: the name as a filter compares it. `order`: the name, then the country, as a list is sorted. */
type TownName = { text: string; order: string }

type PlacedDevices = ReadonlyMap<string, Placed | null>

/** The nearest towns of all devices of an organization, by their last positions in the registry. All callers share them. */
export type NearestTowns = { read(organizationId: string): Promise<PlacedDevices> }

const freshMs = 10_000
const oldestMs = 60_000
/** A text of 36 characters, an entry of a map, an object and two numbers. */
const deviceBytes = 200

type Sources = { pools: FairPool; towns: Towns; clock: Clock }

/** The first read looks for the town of every device, a later one for those of the devices that have moved. */
export function createNearestTowns({ pools, towns, clock }: Sources): NearestTowns {
  const reads = createSharedReads<PlacedDevices>({
    clock,
    agesOf: (_, startedMs) => ({ freshUntilMs: startedMs + freshMs, oldestUntilMs: startedMs + oldestMs }),
    maxSize: cacheBytes.nearestTowns,
    sizeOf: (devices, key) => 2 * key.length + (devices.size + 1) * deviceBytes,
  })
  return {
    read: (organizationId) =>
      reads.read(organizationId, (_, before) =>
        placeDevices(pools.of(`org:${organizationId}`), towns, organizationId, before),
      ),
  }
}

type Row = [deviceId: string, lat: number | null, lon: number | null]

async function placeDevices(
  pool: ReturnType<FairPool['of']>,
  towns: Towns,
  organizationId: string,
  before: PlacedDevices | undefined,
): Promise<PlacedDevices> {
  const { rows } = await pool.query<Row>({
    text: 'SELECT id, last_lat, last_lon FROM device WHERE organization_id = $1',
    values: [organizationId],
    rowMode: 'array',
  })
  const devices = new Map<string, Placed | null>()
  const moved: Placed[] = []
  await forEachInSlices(rows, ([id, lat, lon]) => {
    if (lat === null || lon === null) {
      devices.set(id, null)
      return
    }
    const known = before?.get(id)
    if (known?.town && known.lat === lat && known.lon === lon) {
      devices.set(id, known)
      return
    }
    const placed: Placed = { lat, lon, town: null }
    devices.set(id, placed)
    moved.push(placed)
  })
  const found = await towns.near(moved)
  const nameOf = townNames()
  await forEachInSlices(moved.entries(), ([index, placed]) => {
    const near = found[index]
    if (near) placed.town = nameOf(near)
  })
  return devices
}

/** Returns a function that gives the towns of one name and country the same object. */
function townNames(): (near: Near) => TownName {
  const names = new Map<string, TownName>()
  return ({ name, country }) => {
    const key = `${name}\n${country}`
    const known = names.get(key)
    if (known) return known
    const text = townText(name)
    const made = { text, order: `${text} ${country}` }
    names.set(key, made)
    return made
  }
}

/** Selects by the name of the nearest town. A device without a position matches none. */
export function townSource(devices: PlacedDevices, { near }: LiveFilter): ListSource {
  const sought = near === undefined ? undefined : townText(near)
  return {
    ids: () => devices.keys(),
    matches: (deviceId) => sought === undefined || (devices.get(deviceId)?.town?.text.includes(sought) ?? false),
    valueOf: (deviceId) => devices.get(deviceId)?.town?.order ?? null,
  }
}
