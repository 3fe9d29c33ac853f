import { expect, test } from 'vitest'
import { createOrganizationMap } from '#fleet-map/live/organization-map'
import { createRevisions } from '#fleet-map/revisions'
import { createDeviceIndexes } from '#fleet-map/tiles/device-indexes'
import { encodedTile } from '#fleet-map/tiles/encode'
import type { TileContent } from '#fleet-map/tiles/tile-feature'
import { createTileSources } from '#fleet-map/tiles/tile-sources'
import { lengthOf } from '#http/chunked-body'

const group = { id: 'group', name: 'Group', organizationId: 'organization', smartTags: [] }

const contentOf = (name: string, nowMs = 0, ageS = 0): TileContent => ({
  layers: { devices: [{ type: 1, geometry: [[1, 1]], properties: { name }, ages: { ageS } }] },
  isEmpty: false,
  omitted: [],
  etag: name,
  nowMs,
})

test('a tile is encoded once for ten seconds, and again after that because of its ages', async () => {
  let nowMs = 0
  const { encoded } = createTileSources(() => nowMs)
  const read = async (atMs: number) => {
    nowMs = atMs
    return (await encodedTile(encoded, contentOf('bus', atMs, atMs / 1_000), undefined)).chunks[0]
  }
  const first = await read(0)
  expect(await read(9_999)).toBe(first)
  const later = await read(10_000)
  expect(later).not.toBe(first)
  expect(await read(19_999)).toBe(later)
})

test('a tile is compressed once for each coding, unless it is short', async () => {
  const { encoded } = createTileSources(() => 0)
  expect(await encodedTile(encoded, contentOf('short'), 'gzip')).toMatchObject({ coding: undefined })
  const long = contentOf('long'.padEnd(10_000))
  const packed = await encodedTile(encoded, long, 'zstd')
  expect(packed.coding).toBe('zstd')
  expect(lengthOf(packed.chunks)).toBeLessThan(1_000)
  expect((await encodedTile(encoded, long, 'zstd')).chunks).toBe(packed.chunks)
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
  const { members } = createTileSources(() => nowMs)
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
