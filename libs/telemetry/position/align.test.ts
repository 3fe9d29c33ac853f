import fc from 'fast-check'
import { cellToParent, latLngToCell } from 'h3-js'
import { expect, it } from 'vitest'
import type { CellularRow } from '#telemetry/report/rows'
import { cellularRow } from '#test/tracks'
import { align, coverageCells } from './align.ts'
import type { FixReport } from './distinct-fixes.ts'
import { dwellPolicies } from './dwell.ts'

const start = Date.UTC(2026, 0, 1)
const metre = 1 / 111_195.08
const report = (second: number, northM: number, fields: Partial<FixReport> = {}): FixReport => ({
  tsMs: start + second * 1000,
  lat: 50 + northM * metre,
  lon: 8,
  fixTs: null,
  accuracyM: 3,
  speedMps: null,
  headingDeg: null,
  ...fields,
})

function at(second: number, reports: FixReport[], fields: Partial<CellularRow> = {}) {
  const { rows } = align(reports, [cellularRow(start + second * 1000, fields)], dwellPolicies.vehicle)
  const [row] = rows
  if (row === undefined) throw new Error('the row was dropped')
  return { ...row, northM: row.alignedLat === null ? null : Math.round((row.alignedLat - 50) / metre) }
}

it('device: uses the position in the sample unless it is unusable', () => {
  const stamped = { lat: 51, lon: 9, accuracyM: 4, fixAgeMs: 200 }
  expect(at(5, [report(0, 0), report(10, 100)], stamped)).toMatchObject({
    alignment: 'device',
    alignedLat: 51,
    alignErrorM: 5,
    alignedFixAgeMs: 200,
  })
  expect(at(5, [report(0, 0), report(10, 100)], { lat: 0, lon: 0 }).alignment).toBe('interpolated')
})

it('dwell: uses the centre, with an error of 50 m for a dwell with a single fix', () => {
  expect(at(100, [report(0, 0), report(300, 0)])).toMatchObject({
    alignment: 'dwell',
    northM: 0,
    alignErrorM: Math.hypot(3, 50),
    alignedFixAgeMs: 100_000,
  })
  const two = at(100, [report(0, 0), report(200, 60), report(400, 60)])
  expect(two).toMatchObject({ alignment: 'dwell', northM: 30 })
  expect(two.alignErrorM).toBeCloseTo(Math.hypot(3, 30), 2)
})

it.each([
  [20, 10, 0.6 * 100 * 0.5 * 0.5],
  [20, 5, 0.6 * 100 * 0.25 * 0.75],
  [40, 10, 0.3 * 100],
  [60, 30, 50],
])('interpolated: %i s apart, at %i s', (apartS, second, errorM) => {
  const row = at(second, [report(0, 0), report(apartS, 100, { accuracyM: 7 })])
  expect(row).toMatchObject({ alignment: 'interpolated', northM: Math.round((100 * second) / apartS) })
  expect(row.alignErrorM).toBeCloseTo(Math.hypot(7, errorM), 2)
  expect(row.alignedFixAgeMs).toBe(second * 1000)
})

it('exact: at the time of a fix, also between other fixes', () => {
  const reports = [report(0, 0), report(10, 100), report(20, 200)]
  expect(at(10, reports)).toMatchObject({ alignment: 'exact', northM: 100, alignErrorM: 3, alignedFixAgeMs: 0 })
})

it('does not interpolate over 300 m or 15 min', () => {
  expect(at(30, [report(0, 0), report(60, 301)]).alignment).toBe('none')
  expect(at(30, [report(0, 0), report(60, 299)]).alignment).toBe('interpolated')
  expect(at(400, [report(0, 0), report(901, 250)]).alignment).toBe('none')
  expect(at(400, [report(0, 0), report(900, 250)]).alignment).toBe('interpolated')
})

it('exact: within two seconds of a fix, with an error that depends on the speed', () => {
  expect(at(2, [report(0, 0, { speedMps: 2, headingDeg: null })])).toMatchObject({ alignment: 'exact', alignErrorM: 5 })
  expect(at(-2, [report(0, 0, { speedMps: 2, headingDeg: null })])).toMatchObject({
    alignment: 'exact',
    alignErrorM: 5,
  })
  expect(at(-2.001, [report(0, 0)])).toMatchObject({ alignment: 'none', alignedLat: null, alignErrorM: null })
})

it('held: up to ten seconds after the last repeat of a fix, except at high speed', () => {
  const standing = [report(0, 0), report(20, 0)]
  expect(at(30, standing)).toMatchObject({
    alignment: 'held',
    alignErrorM: Math.hypot(3, 150),
    alignedFixAgeMs: 30_000,
  })
  expect(at(10, standing)).toMatchObject({ alignment: 'held', alignErrorM: 3 })
  expect(at(30.001, standing).alignment).toBe('none')
  expect(at(5, [report(0, 0, { speedMps: 15.1 })]).alignment).toBe('none')
  expect(at(5, [report(0, 0, { speedMps: 15, headingDeg: null })]).alignment).toBe('held')
})

it('never drops an RF sample', () => {
  expect(at(0, [])).toMatchObject({ alignment: 'none', alignedLat: null, alignedLon: null, h3Res10: null })
})

it('assigns rows with an error of up to 37.9 m to the H3 cell of their position', () => {
  const position = { alignment: 'exact' as const, alignedFixAgeMs: 0 }
  fc.assert(
    fc.property(
      fc.double({ min: -90, max: 90, noNaN: true }),
      fc.double({ min: -180, max: 180, noNaN: true }),
      (lat, lon) => {
        const cells = coverageCells({ ...position, alignedLat: lat, alignedLon: lon, alignErrorM: 37.9 })
        const cell = latLngToCell(lat, lon, 10)
        expect(cells.h3Res10?.toString(16)).toBe(cell)
        expect(cells.h3Res5?.toString(16)).toBe(cellToParent(cell, 5))
        expect(BigInt.asIntN(64, cells.h3Res10 ?? 0n)).toBe(cells.h3Res10)
      },
    ),
  )
  expect(coverageCells({ ...position, alignedLat: 1, alignedLon: 1, alignErrorM: 37.91 }).h3Res10).toBeNull()
})
