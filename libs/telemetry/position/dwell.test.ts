import fc from 'fast-check'
import { expect, it } from 'vitest'
import { distanceM } from '#telemetry/geo/geo'
import { track } from '#test/tracks'
import { type DistinctFix, distinctFixes } from './distinct-fixes.ts'
import { type Dwell, type DwellPolicy, deviceClasses, dwellId, dwellPolicies } from './dwell.ts'
import { detectDwells } from './dwell-detector.ts'

/** Stay points as the definition reads, with the whole list at hand. */
function stayPoints(fixes: DistinctFix[], { radiusM, minimumMs }: DwellPolicy) {
  const stays: { first: number; outside: number }[] = []
  for (let anchorAt = 0; anchorAt < fixes.length; ) {
    const anchor = fixes[anchorAt] as DistinctFix
    let outside = anchorAt + 1
    while (outside < fixes.length && distanceM(anchor, fixes[outside] as DistinctFix) <= radiusM) outside++
    const isStay = (fixes[outside - 1] as DistinctFix).lastReportMs - anchor.timeMs >= minimumMs
    if (isStay) stays.push({ first: anchorAt, outside })
    // At the end of the data nothing outside was seen: a shorter stay may still begin at a later anchor.
    anchorAt = isStay ? outside : anchorAt + 1
  }
  return stays
}

it.each(deviceClasses)('finds the dwells of the definition: %s', (deviceClass) => {
  const policy = dwellPolicies[deviceClass]
  fc.assert(
    fc.property(track, ({ reports }) => {
      const fixes = distinctFixes(reports)
      const dwells = detectDwells(fixes, policy)
      const stays = stayPoints(fixes, policy)
      expect(dwells).toHaveLength(stays.length)
      for (const [index, { first, outside }] of stays.entries()) {
        const inside = fixes.slice(first, outside)
        const dwell = dwells[index] as Dwell
        const mean = (pick: (fix: DistinctFix) => number) =>
          inside.reduce((sum, fix) => sum + pick(fix), 0) / inside.length
        expect(dwell).toMatchObject({
          arrivedAtMs: inside[0]?.timeMs,
          lastInsideAtMs: inside.at(-1)?.lastReportMs,
          departedAtMs: outside < fixes.length ? inside.at(-1)?.lastReportMs : null,
          firstOutsideAtMs: fixes[outside]?.timeMs ?? null,
          fixCount: inside.length,
          accuracyM: Math.max(...inside.map(({ accuracyM }) => accuracyM)),
        })
        expect(dwell.lat).toBeCloseTo(
          mean(({ lat }) => lat),
          9,
        )
        expect(dwell.lon).toBeCloseTo(
          mean(({ lon }) => lon),
          9,
        )
        expect(dwell.radiusM).toBeCloseTo(Math.max(...inside.map((fix) => distanceM(fix, dwell))), 3)
      }
    }),
    { numRuns: 200 },
  )
})

const minuteMs = 60_000
const report = (minute: number, lat: number, lon = 0) => ({
  tsMs: Date.UTC(2026, 0, 1) + minute * minuteMs,
  lat,
  lon,
  fixTs: null,
  accuracyM: 5,
  speedMps: 0,
  headingDeg: null,
})
const dwellsOf = (...reports: ReturnType<typeof report>[]) =>
  detectDwells(distinctFixes(reports), dwellPolicies.vehicle)

it('continues over a gap when the next fix is inside, and marks the gap', () => {
  expect(dwellsOf(report(0, 50), report(60, 50))).toMatchObject([{ gap: true, departedAtMs: null, fixCount: 1 }])
  expect(dwellsOf(report(0, 50), report(60, 50.0001), report(61, 51))).toMatchObject([{ gap: true, fixCount: 2 }])
  expect(dwellsOf(report(0, 50), report(15, 50))).toMatchObject([{ gap: false }])
})

it('requires the minimum duration; a single fix is sufficient', () => {
  expect(dwellsOf(report(0, 50), report(4.99, 50))).toEqual([])
  expect(dwellsOf(report(0, 50), report(5, 50))).toHaveLength(1)
})

it('works across the antimeridian', () => {
  const [dwell] = dwellsOf(report(0, 10, 179.9999), report(3, 10, -179.9999), report(6, 10, 179.9999))
  expect(Math.abs(dwell?.lon ?? 0)).toBeGreaterThan(179.999)
  expect(dwell?.radiusM).toBeLessThan(20)
})

it('returns the same id for a dwell each time; ids sort by arrival', () => {
  const first = dwellId('device', 1_700_000_000_000)
  expect(first).toBe(dwellId('device', 1_700_000_000_000))
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(first < dwellId('device', 1_700_000_000_001)).toBe(true)
  expect(first).not.toBe(dwellId('other', 1_700_000_000_000))
})
