import fc from 'fast-check'
import { areNeighborCells, cellToLatLng, getResolution, gridDisk, latLngToCell } from 'h3-js'
import { expect, it } from 'vitest'
import { type DeadCell, deadZoneResolution, joinDeadZones, rankOperators, worstFirst } from './dead-zones.ts'

const centre = latLngToCell(51.9, -8.47, deadZoneResolution)
const field = gridDisk(centre, 3)

const deadCell = (h3: string, samples = 10, inService = 4, lastAtMs = 1_000): DeadCell => ({
  h3,
  samples,
  moments: samples,
  darkMoments: samples - inService,
  lastAtMs,
})

const someCells = fc
  .uniqueArray(fc.nat({ max: field.length - 1 }), { minLength: 1, maxLength: 25 })
  .map((indexes) => indexes.map((index) => deadCell(field[index] ?? centre, 5 + index, index % 5, index)))

it('assigns every cell to exactly one zone, and neighbours to the same zone', () => {
  fc.assert(
    fc.property(someCells, (cells) => {
      const zones = joinDeadZones(cells)
      const zoneOf = new Map(zones.flatMap((zone) => zone.cells.map((h3) => [h3, zone.id] as const)))
      expect(zones.flatMap((zone) => zone.cells).sort()).toEqual(cells.map(({ h3 }) => h3).sort())
      for (const a of cells) {
        for (const b of cells) if (areNeighborCells(a.h3, b.h3)) expect(zoneOf.get(a.h3)).toBe(zoneOf.get(b.h3))
      }
    }),
  )
})

it('connects every cell of a zone through cells of the zone', () => {
  fc.assert(
    fc.property(someCells, (cells) => {
      for (const zone of joinDeadZones(cells)) {
        const reached = new Set([zone.cells[0] ?? ''])
        for (const h3 of reached) for (const one of gridDisk(h3, 1)) if (zone.cells.includes(one)) reached.add(one)
        expect(reached.size).toBe(zone.cells.length)
      }
    }),
  )
})

it('returns the same zones for any order of cells, with the sums of their cells', () => {
  fc.assert(
    fc.property(
      someCells.chain((cells) =>
        fc.tuple(fc.constant(cells), fc.shuffledSubarray(cells, { minLength: cells.length, maxLength: cells.length })),
      ),
      ([cells, shuffled]) => {
        const zones = joinDeadZones(cells)
        expect(joinDeadZones(shuffled)).toEqual(zones)
        const sum = (values: number[]) => values.reduce((a, b) => a + b, 0)
        expect(sum(zones.map(({ samples }) => samples))).toBe(sum(cells.map(({ samples }) => samples)))
        expect(sum(zones.map(({ noServiceS }) => noServiceS))).toBe(
          60 * sum(cells.map(({ darkMoments }) => darkMoments)),
        )
        expect([...zones].sort(worstFirst)).toEqual(zones)
      },
    ),
  )
})

it('describes a zone by the smallest cell, centre, box, area and newest vote', () => {
  const [a = '', b = ''] = [centre, gridDisk(centre, 1).find((h3) => h3 !== centre)]
  const [zone] = joinDeadZones([deadCell(a, 10, 4, 5_000), deadCell(b, 20, 0, 9_000)])
  const [lat, lon] = cellToLatLng(centre)
  expect(zone).toMatchObject({ id: [a, b].sort()[0], cells: [a, b].sort(), samples: 30, lastAtMs: 9_000 })
  expect(zone).toMatchObject({ noServiceS: 26 * 60, serviceRatio: 4 / 30 })
  expect(zone?.areaKm2).toBeGreaterThan(0.15)
  expect(zone?.areaKm2).toBeLessThan(0.3)
  expect(Math.abs((zone?.lat ?? 0) - lat)).toBeLessThan(0.005)
  const [minLon = 0, minLat = 0, maxLon = 0, maxLat = 0] = zone?.bbox ?? []
  expect(minLon < lon && lon < maxLon && minLat < lat && lat < maxLat).toBe(true)
  expect(getResolution(a)).toBe(deadZoneResolution)
})

it('counts the service of moments, of which a device with several modems has fewer than votes', () => {
  const [zone] = joinDeadZones([{ h3: centre, samples: 20, moments: 10, darkMoments: 9, lastAtMs: 1_000 }])
  expect(zone).toMatchObject({ samples: 20, noServiceS: 9 * 60, serviceRatio: 0.1 })
})

it('keeps a zone across the 180th meridian in one small box', () => {
  const cells = gridDisk(latLngToCell(-17, 180, deadZoneResolution), 1).map((h3) => deadCell(h3))
  const [zone] = joinDeadZones(cells)
  const [minLon, , maxLon] = zone?.bbox ?? []
  expect(minLon).toBeGreaterThan(179.9)
  expect(maxLon).toBeLessThan(-179.9)
  expect(Math.abs(zone?.lon ?? 0)).toBeGreaterThan(179.9)
})

it('ranks operators by service, then signal, and only those with five votes', () => {
  const operator = (plmn: string, samples: number, inService: number, medianDbm: number) => ({
    ...{ plmn, samples, inService },
    rsrp: new Map([[medianDbm, inService]]),
  })
  const served = operator('27201', 10, 9, -100)
  const dead = operator('27202', 10, 2, -90)
  const rare = operator('27203', 4, 4, -60)
  expect(rankOperators([served, dead, rare])).toEqual({ worstPlmn: '27202', bestPlmn: '27201' })
  expect(rankOperators([operator('1', 5, 5, -100), operator('2', 5, 5, -90)])).toEqual({
    worstPlmn: '1',
    bestPlmn: '2',
  })
  expect(rankOperators([dead, rare])).toEqual({ worstPlmn: '27202', bestPlmn: null })
  expect(rankOperators([])).toEqual({ worstPlmn: null, bestPlmn: null })
})
