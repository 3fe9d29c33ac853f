import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { encodeTile, tileTag } from '#fleet-map/tiles/encode'
import type { TileFeature } from '#fleet-map/tiles/tile-feature'
import { pointInTile, tileOf } from '#fleet-map/tiles/tile-math'
import { worldPoint } from '#telemetry/geo/mercator'
import { until } from '#test/until'
import { readDeviceTile, type TileItem } from '../../apps/fleet-map/src/map/device-tile.ts'
import { checkPauseMs, openTileFeed } from '../../apps/fleet-map/src/map/tile-feed.ts'

// Tests how the page follows tiles, against an HTTP server with tiles in the service's encoding.

type Place = { lat: number; lon: number }
type Asked = { tile: string; tag: string | undefined; status: number }

const world: [west: number, south: number, east: number, north: number] = [-180, -85, 180, 85]

let devices: Record<string, Place>
let asked: Asked[]
/** Returns true for tiles whose responses wait for `releaseAll`. */
let isHeld: (path: string) => boolean
let held: { path: string; answer: () => void }[]
/** Below this zoom, all devices of a tile are one cluster of the service. */
let devicesFromZoom: number
let pictures: TileItem[][]
let url: string
let stop: () => void

beforeEach(async () => {
  devices = { van: { lat: 50, lon: -100 } }
  asked = []
  isHeld = () => false
  held = []
  devicesFromZoom = 0
  pictures = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    const answer = () => respond(path, request.headers['if-none-match'], response)
    if (isHeld(path)) held.push({ path, answer })
    else answer()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/{z}/{x}/{y}`
  stop = () => {
    server.closeAllConnections()
    server.close()
  }
})
afterEach(() => stop())

/** Sends a tile. Below /empty/, no tile has devices. */
function respond(path: string, tag: string | undefined, response: ServerResponse): void {
  const [z = 0, x = 0, y = 0] = path.split('/').slice(-3).map(Number)
  const layers = { devices: path.startsWith('/empty/') ? [] : featuresOf({ z, x, y }) }
  const etag = tileTag(layers)
  const status = layers.devices.length === 0 ? 204 : tag === etag ? 304 : 200
  asked.push({ tile: `${z}/${x}/${y}`, tag, status })
  response.writeHead(status, { etag })
  response.end(status === 200 ? encodeTile(layers) : undefined)
}

function featuresOf(tile: { z: number; x: number; y: number }): TileFeature[] {
  const features = devicesIn(tile)
  if (tile.z >= devicesFromZoom || features.length < 2) return features
  return features.slice(0, 1).map((first) => ({ ...first, properties: { count: features.length } }))
}

const devicesIn = (tile: { z: number; x: number; y: number }): TileFeature[] =>
  Object.entries(devices).flatMap(([deviceId, { lat, lon }]) => {
    const { x, y } = tileOf(worldPoint(lat, lon), tile.z)
    if (x !== tile.x || y !== tile.y) return []
    return { type: 1, geometry: [pointInTile(worldPoint(lat, lon), tile)], properties: { deviceId, motion: 'moving' } }
  })

function openFeed() {
  const feed = openTileFeed({ onItems: (items) => pictures.push(items), pauseMs: () => 30 })
  const follow = (address: string) => feed.follow({ url: address, headers: { Authorization: 'Bearer key' } })
  stop = ((close) => () => {
    feed.follow(null)
    close()
  })(stop)
  return { ...feed, follow }
}

function answerHeld(): void {
  for (const { answer } of held.splice(0)) answer()
}

/** Answers the requests that wait, and all later ones at once. */
function releaseAll(): void {
  isHeld = () => false
  answerHeld()
}

const eventually = (what: string, isTrue: () => boolean) => until(what, async () => isTrue())

/** Holds one whole check of all tiles. Answers what is held of a check that began before, which has already read other tiles. */
async function holdCheck(tiles: number, path = '/'): Promise<void> {
  await eventually('all tiles were read', () => new Set(asked.map(({ tile }) => tile)).size === tiles)
  isHeld = (sought) => sought.startsWith(path)
  await eventually('all tiles are asked for', () => {
    if (held.length === tiles) return true
    answerHeld()
    return false
  })
}

const last = () => pictures.at(-1) ?? []
const isDrawnAt = ({ lat, lon }: Place) => last().some((item) => Math.hypot(item.lat - lat, item.lon - lon) < 0.1)

test('reads the tiles of the view, and then asks with their entity tags whether they changed', async () => {
  const feed = openFeed()
  feed.follow(url)
  feed.look([-120, 40, -80, 60], 3.7)
  await eventually('the van is drawn', () => isDrawnAt({ lat: 50, lon: -100 }))
  const checks = () => asked.filter(({ status }) => status === 304).length
  await eventually('the tiles were checked', () => checks() > 0)
  const drawn = pictures.length
  await eventually('the tiles were checked again', () => checks() > 3)
  expect(new Set(asked.map(({ tile }) => tile))).toEqual(new Set(['3/1/2', '3/2/2', '3/1/3', '3/2/3']))
  expect(pictures).toHaveLength(drawn)
})

test('draws a device that moves to another tile in exactly one place, in every picture', async () => {
  const feed = openFeed()
  feed.follow(url)
  feed.look(world, 2)
  await eventually('the van is drawn', () => isDrawnAt({ lat: 50, lon: -100 }))
  const before = pictures.length
  for (const moved of [
    { lat: -50, lon: 100 },
    { lat: 10, lon: 10 },
  ]) {
    await holdCheck(16)
    devices = { van: moved }
    releaseAll()
    await eventually('the van is drawn in its new place', () => isDrawnAt(moved))
  }
  expect(pictures.slice(before).map((items) => items.length)).toEqual([1, 1])
})

test('draws a device that moves between the answers of two tiles only where the later one has it', async () => {
  const first = '/2/0/1'
  isHeld = (path) => path !== first || asked.length > 0
  const feed = openFeed()
  feed.follow(url)
  feed.look(world, 2)
  await eventually('the van is drawn', () => isDrawnAt({ lat: 50, lon: -100 }))
  const before = pictures.length
  await eventually('all tiles are asked for again or still', () => held.length === 16)
  devices = { van: { lat: -50, lon: 100 } }
  const others = held.filter(({ path }) => path !== first)
  for (const { answer } of others) answer()
  await eventually('the van is drawn in its new place', () => isDrawnAt({ lat: -50, lon: 100 }))
  expect(pictures.slice(before).map((items) => items.length)).toEqual([1])
})

test('checks at most 80 tiles in a minute, and few of them as often as it should', () => {
  const checksPerMinute = (tiles: number) => (tiles * 60_000) / checkPauseMs(5_000, tiles)
  const counts = Array.from({ length: 100 }, (_, index) => checksPerMinute(index + 1))
  expect(counts[0]).toBe(12)
  expect(Math.max(...counts)).toBeCloseTo(80)
})

test('shows an area as it was until its tiles of another zoom arrive', async () => {
  const feed = openFeed()
  feed.follow(url)
  feed.look(world, 1)
  await eventually('the van is drawn', () => isDrawnAt({ lat: 50, lon: -100 }))
  const before = pictures.length
  isHeld = (path) => path.startsWith('/2/')
  feed.look(world, 2)
  await eventually('all tiles are asked for', () => held.length === 16)
  devices = { van: { lat: 51, lon: -100 } }
  releaseAll()
  await eventually('the new tile is drawn', () => isDrawnAt({ lat: 51, lon: -100 }))
  expect(new Set(pictures.slice(before).map((items) => items.length))).toEqual(new Set([1]))
})

test('clears the picture when other tiles are followed, and ignores later responses for the earlier ones', async () => {
  const feed = openFeed()
  feed.follow(url)
  feed.look(world, 1)
  await eventually('the van is drawn', () => isDrawnAt({ lat: 50, lon: -100 }))
  await holdCheck(4, '/1/')
  devices = { van: { lat: 0, lon: 0 } }
  feed.follow(url.replace('{z}', 'empty/{z}'))
  expect(last()).toEqual([])
  const before = pictures.length
  releaseAll()
  const rounds = asked.length
  await eventually('the other tiles were checked', () => asked.length > rounds + 12)
  expect(pictures.slice(before).flat()).toEqual([])
})

test('merges devices that would overlap without losing one, and draws each from zoom 14 on', () => {
  const places = Array.from({ length: 60 }, (_, index) => ({ lat: 50 + (index % 8) / 100, lon: 9 + (index % 7) / 50 }))
  devices = Object.fromEntries(places.map((place, index) => [`device ${index}`, place]))
  const read = (z: number, { lat, lon }: Place): TileItem[] => {
    const tile = tileOf(worldPoint(lat, lon), z)
    const bytes = encodeTile({ devices: featuresOf(tile) })
    return readDeviceTile(bytes.buffer, tile)
  }
  const sum = (items: readonly TileItem[]) => items.reduce((total, { count }) => total + count, 0)
  const merged = read(5, { lat: 50, lon: 9 })
  expect(sum(merged)).toBe(60)
  expect(merged.length).toBeLessThan(10)
  const [first = { lat: 0, lon: 0 }] = places
  const close = read(14, first)
  expect(close.length).toBe(sum(close))
  devices = Object.fromEntries(places.slice(0, 3).map((place, index) => [`device ${index}`, place]))
  expect(read(5, first).map(({ count }) => count)).toEqual([1, 1, 1])
})

test('draws a cluster of the service and a device beside it as one cluster, however few they are', () => {
  const tile = { z: 5, x: 16, y: 10 }
  const at = (x: number): [number, number][] => [[x, 2_000]]
  const pair = { type: 1 as const, geometry: at(2_000), properties: { count: 2, worstQuality: 'poor' } }
  const single = { type: 1 as const, geometry: at(2_050), properties: { deviceId: 'van', quality: 'good' } }
  const items = readDeviceTile(encodeTile({ devices: [pair, single] }).buffer, tile)
  expect(items).toMatchObject([{ count: 3, quality: 'poor', device: null }])
})

test('merges devices at both sides of the border between two tiles', async () => {
  const places = [-0.2, -0.15, -0.1, -0.05, 0.05, 0.1, 0.15, 0.2].map((lon) => ({ lat: 50, lon }))
  devices = Object.fromEntries(places.map((place, index) => [`device ${index}`, place]))
  const feed = openFeed()
  feed.follow(url)
  feed.look([-10, 45, 10, 55], 5)
  // The tile that arrives first is drawn alone.
  await eventually('one cluster of all is drawn', () => last()[0]?.count === 8)
  expect(last()).toHaveLength(1)
  expect(last()[0]).toMatchObject({ lon: expect.closeTo(0, 1), lat: expect.closeTo(50, 1) })
})

test('returns the box of the devices of a cluster, also of one that the service made', async () => {
  const near = Array.from({ length: 6 }, (_, index) => ({ lat: 50.31 + index / 1_000, lon: 9.07 + index / 500 }))
  devices = Object.fromEntries([...near, { lat: 48, lon: 9 }].map((place, index) => [`device ${index}`, place]))
  const feed = openFeed()
  for (const zoom of [0, 9]) {
    devicesFromZoom = zoom
    feed.follow(url.replace('{z}', `from-${zoom}/{z}`))
    feed.look([5, 45, 13, 55], 7)
    await eventually('the cluster is drawn', () => last().some(({ count }) => count === 6))
    const [cluster] = last().filter(({ count }) => count === 6)
    const [west = 0, south = 0, east = 0, north = 0] = (cluster && (await feed.extentOf(cluster))) ?? []
    for (const { lat, lon } of near) expect([lon > west, lon < east, lat > south, lat < north]).not.toContain(false)
    expect([east - west < 0.2, north - south < 0.2]).toEqual([true, true])
  }
})
