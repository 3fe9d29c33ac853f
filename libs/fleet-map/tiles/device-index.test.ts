import fc from 'fast-check'
import { cellToLatLng, latLngToCell } from 'h3-js'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createOrganizationMap, type OrganizationMap } from '#fleet-map/live/organization-map'
import { createRevisions } from '#fleet-map/revisions'
import { createDeviceIndex, type DeviceIndex } from '#fleet-map/tiles/device-index'
import { deviceFeatures } from '#fleet-map/tiles/device-layer'
import type { TileFeature } from '#fleet-map/tiles/tile-feature'
import { descendantsOf, type Tile, tileOf } from '#fleet-map/tiles/tile-math'
import type { SignalRow } from '#questdb/fleet/fleet-gps'
import { resolutionForZoom } from '#questdb/votes/coverage-resolution'
import { signalQuality } from '#telemetry/coverage/quality'
import { longitudeDifference } from '#telemetry/geo/geo'
import { worldPoint } from '#telemetry/geo/mercator'

const nowMs = 1_800_000_000_000
const windowMs = 3_600_000

const newMap = () => createOrganizationMap('organization', createRevisions())

function register(map: OrganizationMap, deviceId: string, status = 'online', tags: string[] = []): void {
  map.applyRegistry([{ deviceId, organizationId: 'organization', name: deviceId, status, tags, ownedFromMs: null }])
}

function locate(map: OrganizationMap, deviceId: string, lat: number, lon: number, tsMs = nowMs): void {
  const fix = { fix: '3d', accuracyM: null, speedMps: null, headingDeg: null }
  map.applyLocations([{ deviceId, state: { tsMs, lat, lon, ...fix } }])
}

function measure(map: OrganizationMap, deviceId: string, rsrpDbm: number, tsMs = nowMs, of: Partial<SignalRow> = {}) {
  const radio = {
    rat: 'lte',
    plmn: '27201',
    modem: null,
    operatorName: null,
    rsrpDbm,
    rsrqDb: null,
    sinrDb: null,
    nrRsrpDbm: null,
  }
  const place = { alignment: null, alignErrorM: null, lat: null, lon: null, completedFromMs: null }
  map.applySignals([
    { deviceId, state: { tsMs, ...radio, ...place, ...signalQuality({ rat: 'lte', rsrpDbm }), ...of } },
  ])
}

const openIndex = (map: OrganizationMap, filter = {}) => createDeviceIndex([{ map, windowMs }], filter)

const group = { id: 'group', name: 'Group', organizationId: 'organization', smartTags: [] }
const membersOf = (...deviceIds: string[]) => ({ group, explicitIds: new Set(deviceIds) })

const world: Tile = { z: 0, x: 0, y: 0 }

/** The features of all tiles of a zoom that have devices. */
async function featuresOf(index: DeviceIndex, zoom: number, tiles?: readonly Tile[], atMs = nowMs) {
  const found: (TileFeature & { tile: Tile })[] = []
  for (const tile of tiles ?? descendantsOf(world, zoom)) {
    for (const feature of await deviceFeatures(index, tile, atMs)) found.push({ ...feature, tile })
  }
  return found
}

const countOf = (features: readonly TileFeature[]) =>
  features.reduce((sum, { properties }) => sum + Number(properties.count ?? 1), 0)

const somewhere = fc.oneof(
  fc.tuple(fc.double({ min: -90, max: 90, noNaN: true }), fc.double({ min: -180, max: 180, noNaN: true })),
  fc.tuple(fc.constantFrom(0, 85.0511, 90, -90, 10), fc.constantFrom(-180, 180, 0, 90, 179.9999, -179.9999)),
  fc.tuple(fc.double({ min: 50, max: 50.2, noNaN: true }), fc.double({ min: 9.9, max: 10.1, noNaN: true })),
)

/** A step of a history: a device gets a position, a signal or another status, or is removed. */
const step = fc.record({
  device: fc.integer({ min: 0, max: 12 }).map((number) => `device ${number}`),
  change: fc.oneof(
    { weight: 4, arbitrary: somewhere.map(([lat, lon]) => ({ lat, lon })) },
    fc.constantFrom(-120, -108, -80).map((rsrpDbm) => ({ rsrpDbm })),
    fc.constantFrom('online', 'offline', 'error').map((status) => ({ status })),
    fc.constant('remove' as const),
  ),
})

/** Steps, and whether the next reader comes so late that the index has applied them. */
const round = fc.record({ steps: fc.array(step, { maxLength: 20 }), isLate: fc.boolean() })

test('after any history, the counts of all tiles add up, one feature for each cell, as if made anew', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  await fc.assert(
    fc.asyncProperty(fc.array(round, { maxLength: 4 }), async (rounds) => {
      const map = newMap()
      const index = openIndex(map)
      let timeMs = nowMs
      for (const { steps, isLate } of rounds) {
        for (const { device, change } of steps) {
          timeMs++
          if (change === 'remove') map.remove([device])
          else if ('status' in change) register(map, device, change.status)
          else if ('lat' in change) locate(map, device, change.lat, change.lon, timeMs)
          else measure(map, device, change.rsrpDbm, timeMs)
        }
        if (isLate) await vi.runOnlyPendingTimersAsync()
        for (const zoom of [0, 2, 4]) {
          const features = await featuresOf(index, zoom)
          const placed = [...map.devices()].filter(({ location }) => location)
          expect(countOf(features)).toBe(placed.length)
          const cells = new Set(
            placed.map(({ location }) => cellOf(location?.lat ?? 0, location?.lon ?? 0, resolutionForZoom(zoom))),
          )
          expect(features).toHaveLength(cells.size)
          const again = openIndex(map)
          expect(sorted(features)).toEqual(sorted(await featuresOf(again, zoom)))
          again.close()
        }
      }
    }),
    { numRuns: 40 },
  )
})

test('from zoom 13 on, each device is in the tile that contains it and in no other', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(somewhere, { minLength: 1, maxLength: 20 }), async (positions) => {
      const map = newMap()
      const index = openIndex(map)
      for (const [number, [lat, lon]] of positions.entries()) {
        register(map, `device ${number}`)
        locate(map, `device ${number}`, lat, lon)
      }
      for (const zoom of [13, 16]) {
        const tiles = new Map<string, Tile>()
        for (const [lat, lon] of positions) {
          const { x, y } = tileOf(worldPoint(rounded(lat), rounded(lon)), zoom)
          for (const near of [-1, 0, 1]) tiles.set(`${x + near}/${y}`, { z: zoom, x: x + near, y })
        }
        const features = await featuresOf(index, zoom, [...tiles.values()])
        expect(new Set(features.map(({ properties }) => properties.deviceId)).size).toBe(positions.length)
        expect(features).toHaveLength(positions.length)
      }
    }),
  )
})

test('a cluster has the mean position, the counts by status and the worst known quality of its devices', async () => {
  const map = newMap()
  const index = openIndex(map)
  const [lat, lon] = cellToLatLng(latLngToCell(50, 10, 5))
  const devices: [string, number, number | undefined][] = [
    ['online', 0, -80],
    ['online', 0.02, -108],
    ['offline', 0.01, undefined],
    ['error', 0.01, undefined],
  ]
  for (const [number, [status, east, rsrpDbm]] of devices.entries()) {
    register(map, `device ${number}`, status)
    locate(map, `device ${number}`, lat, lon + east)
    if (rsrpDbm !== undefined) measure(map, `device ${number}`, rsrpDbm)
  }
  const tile = tileOf(worldPoint(lat, lon + 0.01), 5)
  const read = () => deviceFeatures(index, tile, nowMs)
  expect(await read()).toMatchObject([
    { properties: { count: 4, online: 2, offline: 1, worstQuality: 'poor', poorCount: 1 } },
  ])
  const [feature] = await read()
  const [x = 0] = feature?.type === 1 ? (feature.geometry[0] ?? []) : []
  expect(((tile.x + x / 4_096) / 2 ** 5) * 360 - 180).toBeCloseTo(lon + 0.01, 1)
  map.remove(['device 1'])
  expect(await read()).toMatchObject([{ properties: { count: 3, online: 1, worstQuality: 'excellent' } }])
  map.remove(['device 0', 'device 2'])
  expect(await read()).toMatchObject([{ properties: { deviceId: 'device 3', status: 'error', quality: undefined } }])
})

test('devices at both sides of the antimeridian have their cluster there', async () => {
  const map = newMap()
  const index = openIndex(map)
  for (const [number, lon] of [179.999, -179.998].entries()) {
    register(map, `device ${number}`)
    locate(map, `device ${number}`, 10, lon)
  }
  const features = await featuresOf(index, 3)
  expect(features.map(({ properties, tile }) => [properties.count, tile.x])).toEqual([[2, 0]])
})

test.each([-180, 180, -179.999_999_9])('a device at %d is drawn there at every zoom', async (lon) => {
  const map = newMap()
  const index = openIndex(map)
  register(map, 'device')
  locate(map, 'device', 10, lon)
  for (const zoom of [0, 1, 4, 8, 12, 13, 16]) {
    const { y } = tileOf(worldPoint(10, lon), zoom)
    const edges = new Set([0, 2 ** zoom - 1])
    const features = await featuresOf(
      index,
      zoom,
      [...edges].map((x) => ({ z: zoom, x, y })),
    )
    expect(features).toHaveLength(1)
    const [x = 0] = (features[0]?.geometry[0] ?? []) as number[]
    const drawn = (((features[0]?.tile.x ?? 0) + x / 4_096) / 2 ** zoom) * 360 - 180
    expect(Math.abs(longitudeDifference(drawn, lon))).toBeLessThanOrEqual(360 / 2 ** zoom / 4_096)
  }
})

test.each<[string, number[], [west: number, east: number]]>([
  ['two devices beside the antimeridian', [178.44, -179.95], [178.44, -179.95]],
  ['a device at −180', [-180, 178], [178, 180]],
  ['one device at 180', [180], [180, 180]],
  ['devices around the globe', [-170, -100, 0, 60, 150], [0, -100]],
])('the bounds of %s are the smallest box', async (_, longitudes, [west, east]) => {
  const map = newMap()
  const index = openIndex(map)
  for (const [number, lon] of longitudes.entries()) {
    register(map, `device ${number}`)
    locate(map, `device ${number}`, -18 + number, lon)
  }
  const { bounds } = await index.overview(nowMs)
  expect(bounds).toEqual([west, -18, east, longitudes.length - 19])
})

test('a fleet in more than 5,000 cells has coarser cells below zoom 4, the same ones in all tiles', async () => {
  const map = newMap()
  const index = openIndex(map)
  const devices = 9_000
  map.applyRegistry(
    Array.from({ length: devices }, (_, number) => ({
      ...{ deviceId: `device ${number}`, organizationId: 'organization', name: '', status: 'online' },
      ...{ tags: [], ownedFromMs: null },
    })),
  )
  const fix = { tsMs: nowMs, fix: null, accuracyM: null, speedMps: null, headingDeg: null }
  const places = Array.from({ length: devices }, (_, number) => ({
    deviceId: `device ${number}`,
    state: { ...fix, lat: (number % 100) - 50, lon: 4 * Math.floor(number / 100) - 180 },
  }))
  map.applyLocations(places)
  for (const zoom of [0, 3]) {
    const features = await featuresOf(index, zoom)
    expect(features.length).toBeLessThanOrEqual(5_000)
    expect(countOf(features)).toBe(devices)
    const cells = [4, 3, 2].map(
      (resolution) => new Set(places.map(({ state }) => cellOf(state.lat, state.lon, resolution))),
    )
    expect(features.length).toBe(cells.find(({ size }) => size <= 5_000)?.size)
  }
  const all = new Set(places.map(({ state }) => cellOf(state.lat, state.lon, 4)))
  expect(await featuresOf(index, 4)).toHaveLength(all.size)
})

test('a device leaves when its position leaves the window, and loses its signal when that does', async () => {
  const map = newMap()
  const index = openIndex(map)
  register(map, 'device')
  locate(map, 'device', 50, 10, nowMs)
  measure(map, 'device', -80, nowMs - windowMs / 2)
  const at = (atMs: number) => featuresOf(index, 0, [world], atMs)
  expect(await at(nowMs)).toMatchObject([{ properties: { quality: 'excellent' } }])
  expect(await at(nowMs + windowMs / 2 + 1_000)).toMatchObject([{ properties: { quality: undefined } }])
  expect(await at(nowMs + windowMs + 1_000)).toEqual([])
  locate(map, 'device', 50, 10, nowMs + windowMs)
  expect(await at(nowMs + windowMs + 1_000)).toHaveLength(1)
})

test('a filtered index follows changes of devices and of the members of the group', async () => {
  const map = newMap()
  for (const id of ['a', 'b', 'c']) {
    register(map, id, 'online', ['bus'])
    locate(map, id, 50, 10)
    measure(map, id, -80)
  }
  const read = async (index: DeviceIndex) => countOf(await featuresOf(index, 0, [world]))
  const online = openIndex(map, { status: 'online', tags: ['bus'], rat: 'lte', plmn: '27201' })
  expect(await read(online)).toBe(3)
  register(map, 'a', 'offline', ['bus'])
  register(map, 'b', 'online', ['tram'])
  expect(await read(online)).toBe(1)
  register(map, 'a', 'online', ['bus'])
  expect(await read(online)).toBe(2)
  const members = openIndex(map, { members: membersOf('a') })
  expect(await read(members)).toBe(1)
  members.setMembers(membersOf('b', 'c', 'unknown'))
  expect(await read(members)).toBe(2)
  const tagged = { ...membersOf('a'), group: { ...group, smartTags: ['tram'] } }
  members.setMembers(tagged)
  expect(await read(members)).toBe(2)
  register(map, 'c', 'online', ['tram'])
  expect(await read(members)).toBe(3)
  members.setMembers({ ...tagged, group: { ...tagged.group, organizationId: 'another' } })
  register(map, 'c', 'online', ['tram', 'new'])
  expect(await read(members)).toBe(2)
  const ofTags = (...smartTags: string[]) => ({ ...membersOf(), group: { ...group, smartTags } })
  const commas = openIndex(map, { members: ofTags('tram', 'bus') })
  expect(await read(commas)).toBe(3)
  commas.setMembers(ofTags('tram,bus'))
  expect(await read(commas)).toBe(0)
})

test('a level that was not read for a while is complete when it is read again', async () => {
  const map = newMap()
  const index = openIndex(map)
  const read = async (zoom: number, atMs: number) => countOf(await featuresOf(index, zoom, [world], atMs))
  for (const id of ['a', 'b']) {
    register(map, id)
    locate(map, id, 50, 10)
  }
  expect(await read(0, nowMs)).toBe(2)
  const bytes = index.bytes()
  const laterMs = nowMs + 10 * 60_000
  await index.points(laterMs)
  expect(index.bytes()).toBeLessThan(bytes)
  locate(map, 'a', 20, 10, nowMs + 1)
  register(map, 'c')
  locate(map, 'c', -50, 10)
  expect(await read(0, laterMs)).toBe(3)
})

test('concurrent readers of different zooms get complete answers while the map changes', async () => {
  const map = newMap()
  const index = openIndex(map)
  const devices = 3_000
  const move = (number: number, round: number) =>
    locate(map, `device ${number}`, 50 + ((number * 7 + round) % 100) / 100, 10 + (number % 97) / 50, nowMs + round)
  for (let number = 0; number < devices; number++) {
    register(map, `device ${number}`)
    move(number, 0)
  }
  for (let round = 1; round <= 3; round++) {
    const reads = [0, 5, 8, 10].map((zoom) => index.cells(resolutionForZoom(zoom), nowMs))
    for (let number = 0; number < devices; number += 3) move(number, round)
    await Promise.all([...reads, index.points(nowMs)])
    expect(countOf(await featuresOf(index, 0))).toBe(devices)
  }
})

test('changes reach the zooms that nobody reads soon after, so that they do not pile up', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const map = newMap()
  const index = openIndex(map)
  const move = (lat: number, tsMs: number) => {
    for (let number = 0; number < 500; number++) locate(map, `device ${number}`, lat, 10, tsMs)
  }
  for (let number = 0; number < 500; number++) register(map, `device ${number}`)
  move(50, nowMs)
  for (const zoom of [0, 8]) await index.cells(resolutionForZoom(zoom), nowMs)
  const bytes = index.bytes()
  move(50.01, nowMs + 1)
  expect(countOf(await featuresOf(index, 0, [world]))).toBe(500)
  expect(index.bytes()).toBeGreaterThan(bytes)
  await vi.runOnlyPendingTimersAsync()
  await expect.poll(() => index.bytes()).toBe(bytes)
})

const rounded = (degrees: number) => Math.round(degrees * 1e7) / 1e7
const cellOf = (lat: number, lon: number, resolution: number) => latLngToCell(rounded(lat), rounded(lon), resolution)
const sorted = (features: readonly object[]) => features.map((feature) => JSON.stringify(feature)).sort()

test('knows the operators of all modems of a device by name, not only that of the active one', async () => {
  const map = newMap()
  register(map, 'truck')
  locate(map, 'truck', 50, 8)
  measure(map, 'truck', -80, nowMs, { modem: 'wwan0', operatorName: 'Alpha Mobile' })
  measure(map, 'truck', -90, nowMs - 1, { modem: 'wwan1', plmn: '27202', operatorName: 'Beta Telecom' })
  measure(map, 'truck', -90, nowMs - 2 * windowMs, { modem: 'wwan2', plmn: '27203', operatorName: 'Of yesterday' })
  const index = openIndex(map)
  onTestFinished(index.close)
  expect((await index.overview(nowMs)).operators).toEqual([
    { plmn: '27201', name: 'Alpha Mobile' },
    { plmn: '27202', name: 'Beta Telecom' },
  ])
})
