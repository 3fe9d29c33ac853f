import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { pointOfWorld } from '#telemetry/geo/mercator'
import { areaKm2, bordersOf, countryNames, landOf, placeInside, type WorldAtlas } from './atlas.ts'

// The small atlas has the format of the large one.
const path = createRequire(import.meta.url).resolve('world-atlas/countries-110m.json')
const atlas: WorldAtlas = JSON.parse(readFileSync(path, 'utf8'))

const names = countryNames(atlas)
const placeOf = (name: string) => {
  const found = names.find((country) => country.name === name)
  return found && pointOfWorld([found.x, found.y])
}

describe('names of countries', () => {
  test('large ones come first and appear first', () => {
    expect(names.slice(0, 3).map(({ name }) => name)).toEqual(['Russia', 'Antarctica', 'Canada'])
    expect(names.map(({ order }) => order)).toEqual(names.map((_, index) => index))
    expect(names.find(({ name }) => name === 'Luxembourg')).toMatchObject({ minZoom: 5 })
    expect(names.find(({ name }) => name === 'Germany')).toMatchObject({ minZoom: 3 })
  })

  test('are at a place inside the country, also across the antimeridian', () => {
    expect(placeOf('Netherlands')).toEqual({ lat: expect.closeTo(52, 0), lon: expect.closeTo(5.7, 0) })
    expect(placeOf('Fiji')?.lon).toBeGreaterThan(177)
    const russia = placeOf('Russia')
    expect(russia?.lon).toBeGreaterThan(60)
    expect(russia?.lon).toBeLessThan(130)
    for (const { x, y } of names) expect([x >= 0 && x < 1, y >= 0 && y <= 1]).toEqual([true, true])
  })

  test('are inside a bent shape, whose centre of gravity is outside', () => {
    const [lon, lat] = placeInside([
      [0, 0],
      [10, 0],
      [10, 10],
      [9, 10],
      [9, 1],
      [1, 1],
      [1, 10],
      [0, 10],
      [0, 0],
    ])
    expect(lat).toBeGreaterThan(1)
    expect([0.5, 9.5]).toContain(lon)
  })
})

test('the area of a ring on the globe', () => {
  const octant = [
    [0, 0],
    [90, 0],
    [90, 90],
    [0, 90],
    [0, 0],
  ] as [number, number][]
  expect(areaKm2(octant) / 63_760_000).toBeCloseTo(1, 2)
  expect(areaKm2([[5, 5]])).toBe(0)
})

test('land is drawn without a jump around the world', () => {
  const rings = landOf(atlas).features.flatMap(({ geometry }) => geometry.coordinates)
  expect(rings.length).toBeGreaterThan(100)
  for (const ring of rings) {
    const jumps = ring.filter(
      ([lon = 0, lat = 0], index) => Math.abs(lon - (ring[index - 1]?.[0] ?? lon)) > 180 && Math.abs(lat) < 90,
    )
    expect(jumps).toEqual([])
  }
})

test('borders lie between countries, not at a coast', () => {
  const lines = bordersOf(atlas).features.map(({ geometry }) => geometry.coordinates)
  const touches = (west: number, south: number, east: number, north: number) =>
    lines.some((line) => line.some(([lon = 0, lat = 0]) => lon > west && lon < east && lat > south && lat < north))
  expect(touches(5.8, 50.7, 7.2, 53.2)).toBe(true)
  expect(touches(110, -45, 155, -10)).toBe(false)
})
