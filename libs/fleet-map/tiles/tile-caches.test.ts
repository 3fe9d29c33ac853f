import { expect, test } from 'vitest'
import { createOrganizationMap } from '#fleet-map/live/organization-map'
import { createRevisions } from '#fleet-map/revisions'
import { createDeviceIndexes } from '#fleet-map/tiles/device-indexes'
import { createEncodedTiles } from '#fleet-map/tiles/encoded-tiles'
import { createSharedMembers } from '#fleet-map/tiles/shared-members'
import type { TileContent } from '#fleet-map/tiles/tile-feature'
import { lengthOf } from '#http/chunked-body'

const group = { id: 'group', name: 'Group', organizationId: 'organization', smartTags: [] }

const contentOf = (name: string, nowMs = 0, ageS = 0): TileContent => ({
  layers: { devices: [{ type: 1, geometry: [[1, 1]], properties: { name }, ages: { ageS } }] },
  isEmpty: false,
  omitted: [],
  etag: name,
  nowMs,
})

test('encoded tiles are cached within a limit of bytes', async () => {
  const maxBytes = 100_000
  const tiles = createEncodedTiles(maxBytes)
  for (let number = 0; number < 200; number++) {
    await tiles.read(contentOf(`${number}`.padEnd(2_000)), 'gzip')
    expect(tiles.keptBytes()).toBeLessThanOrEqual(maxBytes)
  }
  expect(tiles.keptBytes()).toBeGreaterThan(maxBytes / 2)
})

test('a tile is encoded once for ten seconds, and again after that because of its ages', async () => {
  const tiles = createEncodedTiles(1_000_000)
  const read = async (nowMs: number) => (await tiles.read(contentOf('bus', nowMs, nowMs / 1_000), undefined)).chunks[0]
  const first = await read(0)
  expect(await read(10_000)).toBe(first)
  const later = await read(10_001)
  expect(later).not.toBe(first)
  expect(await read(20_000)).toBe(later)
})

test('a tile is compressed once for each coding, unless it is short', async () => {
  const tiles = createEncodedTiles(1_000_000)
  expect(await tiles.read(contentOf('short'), 'gzip')).toMatchObject({ coding: undefined })
  const long = contentOf('long'.padEnd(10_000))
  const packed = await tiles.read(long, 'zstd')
  expect(packed.coding).toBe('zstd')
  expect(lengthOf(packed.chunks)).toBeLessThan(1_000)
  expect((await tiles.read(long, 'zstd')).chunks).toBe(packed.chunks)
})

test('the indexes of filters are kept within a limit of bytes, but never less than the last one', async () => {
  const map = createOrganizationMap('organization', createRevisions())
  const maps = [{ map, windowMs: 1_000 }]
  const indexes = createDeviceIndexes(200_000)
  const first = indexes.open(maps, { tags: ['0'] })
  for (let number = 1; number < 20; number++) {
    const index = indexes.open(maps, { tags: [`${number}`] })
    await index.points(0)
    expect(indexes.open(maps, { tags: [`${number}`] })).toBe(index)
    expect(indexes.keptBytes()).toBeLessThanOrEqual(Math.max(200_000, index.bytes()))
  }
  expect(indexes.open(maps, { tags: ['0'] })).not.toBe(first)
  const tiny = createDeviceIndexes(1)
  const only = tiny.open(maps, {})
  await only.points(0)
  expect(tiny.open(maps, {})).toBe(only)
})

test('an index is made anew when a map was', () => {
  const indexes = createDeviceIndexes(1_000_000)
  const open = (windowMs: number, map = createOrganizationMap('organization', createRevisions())) =>
    indexes.open([{ map, windowMs }], {})
  const index = open(1_000)
  const [indexed] = index.maps
  expect(open(1_000, indexed?.map)).toBe(index)
  expect(open(2_000, indexed?.map)).not.toBe(index)
  expect(open(1_000)).not.toBe(index)
})

test('the members of a group are looked up once for concurrent readers, and again later or after an error', async () => {
  let nowMs = 0
  let looked = 0
  const members = createSharedMembers(() => nowMs)
  const look = async () => {
    looked++
    if (looked === 1) throw new Error('away')
    return { group, explicitIds: new Set(['device']) }
  }
  await expect(members.read('group', look)).rejects.toThrow('away')
  await Promise.all([members.read('group', look), members.read('group', look)])
  expect(looked).toBe(2)
  nowMs = 1_999
  await members.read('group', look)
  expect(looked).toBe(2)
  nowMs = 2_001
  await members.read('group', look)
  expect(looked).toBe(3)
})
