import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createNumberList } from '#core/number-list'
import { distanceM } from '#telemetry/geo/geo'
import { track } from '#test/tracks'
import { type DistinctFix, distinctFixes } from './distinct-fixes.ts'
import { type DwellPolicy, deviceClasses, dwellPolicies } from './dwell.ts'
import {
  copyDwellState,
  createDwellState,
  detectDwells,
  maxPendingFixes,
  openDwell,
  takeReport,
} from './dwell-detector.ts'

type Found = { arrivedAtMs: number; lastInsideAtMs: number; fixCount: number; firstOutsideAtMs: number | null }

/** The detector as it is defined: anchors are tried one after the other against all that came after them. */
function plainDwells(fixes: readonly DistinctFix[], { radiusM, minimumMs }: DwellPolicy): Found[] {
  const found: Found[] = []
  let run: DistinctFix[] = []
  let isStay = false
  const close = (outside: DistinctFix | null) => {
    const [arrivedAtMs, lastInsideAtMs] = [run[0]?.timeMs ?? 0, run.at(-1)?.lastReportMs ?? 0]
    if (isStay)
      found.push({ arrivedAtMs, lastInsideAtMs, fixCount: run.length, firstOutsideAtMs: outside?.timeMs ?? null })
  }
  for (const fix of fixes) {
    const isInside = run[0] !== undefined && distanceM(run[0], fix) <= radiusM
    if (isStay && !isInside) {
      close(fix)
      run = [fix]
      isStay = false
    } else if (isStay || (isInside && run.length < maxPendingFixes)) run.push(fix)
    else {
      run = [...run.slice(1), fix]
      const isAnchor = (anchor: DistinctFix, at: number) =>
        run.slice(at + 1).every((later) => distanceM(anchor, later) <= radiusM)
      run = run.slice(run.findIndex(isAnchor))
    }
    isStay ||= (run.at(-1)?.lastReportMs ?? 0) - (run[0]?.timeMs ?? 0) >= minimumMs
  }
  close(null)
  return found
}

const times = (found: readonly Found[]): Found[] =>
  found.map(({ arrivedAtMs, lastInsideAtMs, fixCount, firstOutsideAtMs }) => ({
    arrivedAtMs,
    lastInsideAtMs,
    fixCount,
    firstOutsideAtMs,
  }))

const metre = 1 / 111_195
const startMs = Date.UTC(2026, 0, 1)
type Place = [northM: number, eastM: number]

const reportsAt = (places: readonly Place[], stepMs: number) =>
  places.map(([northM, eastM], index) => ({
    tsMs: startMs + index * stepMs,
    lat: 60 + northM * metre,
    lon: 179.9995 + eastM * metre * 2 > 180 ? eastM * metre * 2 - 180.0005 : 179.9995 + eastM * metre * 2,
    fixTs: null,
    accuracyM: 5,
    speedMps: null,
    headingDeg: null,
  }))
const fixesAt = (places: readonly Place[], stepMs: number) => distinctFixes(reportsAt(places, stepMs))

/** Places about one radius apart in every direction, where anchors move with almost every fix. */
const jitter = fc.record({
  places: fc.array(
    fc.oneof(
      fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 200 })),
      fc
        .integer({ min: 0, max: 359 })
        .map((degree): Place => [100 * Math.cos((degree * Math.PI) / 180), 100 * Math.sin((degree * Math.PI) / 180)]),
    ),
    { minLength: 1, maxLength: 150 },
  ),
  stepMs: fc.constantFrom(1_000, 10_000, 60_000),
})

it.each(deviceClasses)('finds the same dwells as a search over all anchors: %s', (deviceClass) => {
  const policy = dwellPolicies[deviceClass]
  fc.assert(
    fc.property(
      fc.oneof(
        jitter.map(({ places, stepMs }) => reportsAt(places, stepMs)),
        track.map(({ reports }) => reports),
      ),
      (reports) => {
        const fixes = distinctFixes(reports)
        expect(times(detectDwells(fixes, policy))).toEqual(plainDwells(fixes, policy))
      },
    ),
    { numRuns: 200 },
  )
})

it('continues from a copy of its state without a difference', () => {
  const policy = dwellPolicies.vehicle
  fc.assert(
    fc.property(jitter, fc.nat(150), ({ places, stepMs }, cut) => {
      const reports = reportsAt(places, stepMs)
      const fixes = createNumberList()
      let dwell = createDwellState()
      const found = reports.flatMap((report, index) => {
        if (index === cut) {
          const copy = createDwellState()
          copyDwellState(dwell, copy)
          dwell = copy
        }
        return takeReport(dwell, fixes, policy, report) ?? []
      })
      expect([...found, ...[openDwell(dwell, fixes) ?? []].flat()]).toEqual(
        detectDwells(distinctFixes(reports), policy),
      )
    }),
  )
})

/** Many fixes a second, so that none of the runs lasts the minimum stay before its memory is full. */
const crowds: Record<string, (index: number) => Place> = {
  'jitter inside the radius': (index) => [(index * 7919) % 61, (index * 104_729) % 59],
  'jitter across the radius': (index) => [(index * 7919) % 197, (index * 104_729) % 199],
  'two places a radius apart': (index) => [index % 2 === 0 ? 99.9 : (index % 1_000) / 5_000, (index % 97) / 1_000],
  'a line back and forth': (index) => [(index % 1_000) * 0.11, 0],
}

it.each(Object.keys(crowds))(
  'finds the same dwells as a search over all anchors, beyond the memory of a run: %s',
  (name) => {
    const place = crowds[name]
    const places = Array.from({ length: maxPendingFixes + 400 }, (_, index): Place => place?.(index) ?? [0, 0])
    const fixes = fixesAt(places, 1)
    // The last fix stands long enough for a stay.
    const last = fixes.at(-1)
    if (last)
      fixes.push({
        ...last,
        lat: last.lat + metre,
        timeMs: last.timeMs + 1,
        firstReportMs: last.timeMs + 1,
        lastReportMs: last.timeMs + 400_000,
      })
    const policy = dwellPolicies.vehicle
    expect(times(detectDwells(fixes, policy))).toEqual(plainDwells(fixes, policy))
  },
)

const cpuMs = (work: () => void): number => {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}

it.each(Object.keys(crowds))('has a low cost per fix, however many fixes are within the radius: %s', (name) => {
  const fixes = fixesAt(
    Array.from({ length: 20_000 }, (_, index): Place => crowds[name]?.(index) ?? [0, 0]),
    1,
  )
  expect(cpuMs(() => detectDwells(fixes, dwellPolicies.vehicle))).toBeLessThan(1_500)
})

it('has a low cost and size for a dwell whose fixes are all on its outline', () => {
  const golden = Math.PI * (3 - Math.sqrt(5))
  const places = Array.from(
    { length: 20_000 },
    (_, index): Place => [45 * Math.cos(index * golden), 45 * Math.sin(index * golden)],
  )
  const reports = reportsAt(places, 1_000)
  const [dwell, fixes] = [createDwellState(), createNumberList()]
  const takeAll = () => {
    for (const report of reports) takeReport(dwell, fixes, dwellPolicies.vehicle, report)
  }
  expect(cpuMs(takeAll)).toBeLessThan(2_000)
  expect(dwell.extent.hull.length + dwell.extent.recent.length).toBeLessThan(2_500)
  expect(openDwell(dwell, fixes)?.radiusM).toBeCloseTo(45, 1)
})
