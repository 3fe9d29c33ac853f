import fc from 'fast-check'
import { expect, test } from 'vitest'
import { distanceM } from '#telemetry/geo/geo'
import { track } from '#test/tracks'
import { align } from './align.ts'
import { distinctFixes, type FixReport } from './distinct-fixes.ts'
import { dwellPolicies } from './dwell.ts'
import { tripsOf, type Way } from './trips.ts'

const minuteMs = 60_000
const metre = 1 / 111_195
const startMs = Date.UTC(2026, 0, 1)

/** A fix this many metres north of the start. */
const fixAt = (second: number, northM: number, more: Partial<FixReport> = {}): FixReport => ({
  ...{ tsMs: startMs + second * 1_000, lat: 50 + northM * metre, lon: 8, fixTs: null, accuracyM: 5 },
  ...{ speedMps: null, headingDeg: null, ...more },
})
const from = { lat: 50, lon: 8 }
const to = { lat: 50 + 2_000 * metre, lon: 8 }
const over: Way = { departedAtMs: startMs, from, arrivedAtMs: startMs + 200_000, to }
/** North at 10 m/s, a fix every 10 s. */
const drive = Array.from({ length: 21 }, (_, index) => fixAt(index * 10, index * 100))

test('a way is as long as its curve, and ends at the dwells', () => {
  const [trip, ...others] = tripsOf(over, distinctFixes(drive))
  expect(others).toEqual([])
  expect(trip).toMatchObject({ departedAtMs: startMs, arrivedAtMs: startMs + 200_000, from, to, gap: false })
  expect(trip?.distanceM).toBeCloseTo(2_000, 0)
  const bend = [
    fixAt(0, 0, { speedMps: 10, headingDeg: 45 }),
    { ...fixAt(10, 70), lon: 8 + 70 * metre * 1.55, speedMps: 10, headingDeg: 90 },
  ]
  const [curved] = tripsOf(over, distinctFixes(bend))
  expect(curved?.distanceM).toBeGreaterThan(distanceM(bend[0] as FixReport, bend[1] as FixReport))
})

test('a way that is not over ends at its newest fix', () => {
  const [trip] = tripsOf({ ...over, arrivedAtMs: null, to: null }, distinctFixes(drive.slice(0, 11)))
  expect(trip).toMatchObject({ arrivedAtMs: null, lastMs: startMs + 100_000, to: { lat: drive[10]?.lat, lon: 8 } })
})

test('a silence of more than 15 minutes splits a way, and counts no metres', () => {
  const later = (fix: FixReport) => ({ ...fix, tsMs: fix.tsMs + 16 * minuteMs })
  const silent = [...drive.slice(0, 11), ...drive.slice(11).map(later)]
  const trips = tripsOf({ ...over, arrivedAtMs: startMs + 200_000 + 16 * minuteMs }, distinctFixes(silent))
  expect(trips).toMatchObject([
    { departedAtMs: startMs, arrivedAtMs: startMs + 100_000, from, to: { lat: drive[10]?.lat }, gap: true },
    { departedAtMs: startMs + 110_000 + 16 * minuteMs, from: { lat: drive[11]?.lat }, to, gap: true },
  ])
  const sumM = trips.reduce((sum, trip) => sum + trip.distanceM, 0)
  expect(sumM).toBeCloseTo(1_900, 0)
  expect(tripsOf(over, distinctFixes(silent.slice(0, 1)))).toEqual([])
})

test('a fix that is older than the departure does not end a trip before it begins', () => {
  const near = [fixAt(0, 0), fixAt(1, 800, { fixTs: startMs - 3_000 })]
  const [trip] = tripsOf({ ...over, arrivedAtMs: startMs - 3_000 }, distinctFixes(near))
  expect(trip).toMatchObject({ departedAtMs: startMs, arrivedAtMs: startMs, lastMs: startMs })
})

test('trips between the dwells of any track are in order, disjoint', () => {
  fc.assert(
    fc.property(track, ({ reports }) => {
      const { dwells } = align(reports, [], dwellPolicies.vehicle)
      const fixes = distinctFixes(reports)
      const trips = dwells.flatMap((dwell, index) => {
        const { departedAtMs } = dwell
        if (departedAtMs === null) return []
        const next = dwells[index + 1]
        const arrivedAtMs = next?.arrivedAtMs ?? null
        const on = fixes.filter(
          ({ timeMs, lastReportMs }) => lastReportMs >= departedAtMs && timeMs <= (arrivedAtMs ?? Infinity),
        )
        return tripsOf({ departedAtMs, from: dwell, arrivedAtMs, to: next ?? null }, on)
      })
      for (const [index, trip] of trips.entries()) {
        expect(trip.lastMs).toBeGreaterThanOrEqual(trip.departedAtMs)
        expect(trip.departedAtMs).toBeGreaterThanOrEqual(trips[index - 1]?.lastMs ?? 0)
        expect(Number.isFinite(trip.distanceM)).toBe(true)
      }
    }),
  )
})
