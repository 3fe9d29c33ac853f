import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allNamesZoom, type NamedTown, townNames } from './town-names.ts'

const town = (name: string, population: number, lon: number, lat = 52, isCapital = false): NamedTown => ({
  name,
  population,
  lon,
  lat,
  isCapital,
})

const zoomsOf = (towns: readonly NamedTown[]) =>
  Object.fromEntries(townNames(towns).map(({ name, minZoom }) => [name, minZoom]))

test('larger towns appear first', () => {
  const towns = [town('Village', 2_000, 0), town('Town', 60_000, 10), town('City', 4_000_000, 20)]
  expect(townNames(towns).map(({ name }) => name)).toEqual(['City', 'Town', 'Village'])
  expect(zoomsOf(towns)).toEqual({ City: 0, Town: 6, Village: 9 })
})

test('a capital appears before a larger town, and a town alone before an equal one beside a city', () => {
  const towns = [town('Capital', 40_000, 0, 52, true), town('Larger', 60_000, 10)]
  expect(zoomsOf(towns)).toEqual({ Capital: 5, Larger: 6 })
  const pair = [town('City', 900_000, 0), town('Suburb', 60_000, 0.2), town('Alone', 60_000, 10)]
  expect(zoomsOf(pair)).toMatchObject({ Alone: 6, Suburb: 9 })
})

test('a name has the place of its town on the map, and ten times the logarithm of its weight', () => {
  expect(townNames([town('Null Island', 1_000, 0, 0)])).toMatchObject([{ x: 0.5, y: 0.5, rank: 30 }])
  expect(townNames([town('Nobody counted', 0, 0, 0)])).toMatchObject([{ rank: 0, minZoom: 9 }])
  expect(townNames([])).toEqual([])
})

const anyTown = fc.record({
  name: fc.string(),
  population: fc.integer({ min: 0, max: 20_000_000 }),
  lon: fc.double({ min: -1, max: 1, noNaN: true }),
  lat: fc.double({ min: 51, max: 52, noNaN: true }),
  isCapital: fc.boolean(),
})

test('below the last zoom, two names are never closer than a name is long, and the smaller one waits', () => {
  fc.assert(
    fc.property(fc.array(anyTown, { maxLength: 60 }), (towns) => {
      const names = townNames(towns)
      expect(names).toHaveLength(towns.length)
      for (const [index, a] of names.entries())
        for (const b of names.slice(index + 1)) {
          expect(b.rank).toBeLessThanOrEqual(a.rank)
          const zoom = Math.max(a.minZoom, b.minZoom)
          if (zoom === allNamesZoom) continue
          const scale = 512 * 2 ** zoom
          const isApart = Math.abs(a.x - b.x) * scale >= 110 || Math.abs(a.y - b.y) * scale >= 56
          expect(isApart).toBe(true)
        }
    }),
    { numRuns: 50 },
  )
})
