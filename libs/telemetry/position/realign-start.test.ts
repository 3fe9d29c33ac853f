import fc from 'fast-check'
import { expect, it } from 'vitest'
import { track } from '#test/tracks'
import { distinctFixes, type FixReport } from './distinct-fixes.ts'
import { dwellPolicies, isFreshStart } from './dwell.ts'
import { createStartSearch } from './realign-start.ts'

const policy = dwellPolicies.vehicle
const startMs = Date.UTC(2026, 0, 1)

const report = (second: number, northM: number, fixSecond = second): FixReport => ({
  tsMs: startMs + second * 1000,
  lat: 50 + northM / 111_195,
  lon: 8,
  fixTs: startMs + fixSecond * 1000,
  accuracyM: 5,
  speedMps: null,
  headingDeg: null,
})

/** The start among reports in order of time, in seconds; `isBeginning`: the device has no older reports. */
function startOf(reports: readonly FixReport[], { isBeginning = false, pageSize = reports.length } = {}) {
  const search = createStartSearch(policy)
  const newestFirst = reports.toReversed()
  for (let from = 0; from < newestFirst.length; from += pageSize) {
    const start = search.take(newestFirst.slice(from, from + pageSize))
    if (start !== undefined) return inSeconds(start)
  }
  const start = isBeginning ? search.atBeginning() : search.oldestOfFixes()
  return start && inSeconds(start)
}

const inSeconds = ({ reportsFromMs, rowsFromMs }: { reportsFromMs: number; rowsFromMs: number }) => ({
  reports: (reportsFromMs - startMs) / 1000,
  rows: (rowsFromMs - startMs) / 1000,
})

it('starts with the first report of the fix before a jump', () => {
  const reports = [report(0, 0), report(150, 100), report(160, 100), report(170, 100), report(200, 900)]
  expect(startOf(reports)).toEqual({ reports: 150, rows: 200 })
  for (const pageSize of [1, 2, 3]) expect(startOf(reports, { pageSize })).toEqual({ reports: 150, rows: 200 })
})

it('ignores a fix from more than 60 s before the jump, however long it was repeated', () => {
  const reports = [report(0, 0), report(100, 100), report(170, 100), report(200, 900)]
  expect(startOf(reports)).toEqual({ reports: 200, rows: 200 })
})

it('skips the remaining reports of a fix that began earlier and starts with the next fix', () => {
  const reports = [report(100, 0), report(170, 0), report(180, 100), report(200, 900)]
  expect(startOf(reports)).toEqual({ reports: 180, rows: 200 })
})

it('detects a jump only with reports from more than 60 s before it, or at the beginning of the track', () => {
  const reports = [report(140, 0), report(200, 900)]
  expect(startOf(reports)).toBeUndefined()
  expect(startOf(reports, { isBeginning: true })).toEqual({ reports: 140, rows: 200 })
  expect(startOf([report(139, 0), ...reports.slice(1)])).toEqual({ reports: 200, rows: 200 })
})

it('does not start with a fix whose time is before the reports of the previous fix', () => {
  const reports = [report(0, 0), report(100, 900), report(200, 900), report(201, 1800, 199)]
  expect(startOf(reports)).toEqual({ reports: 100, rows: 100 })
})

it('without a jump, returns the oldest fix with a known predecessor', () => {
  const reports = [report(0, 0), report(30, 100), report(60, 200), report(61, 300), report(90, 400), report(120, 500)]
  expect(startOf(reports)).toEqual({ reports: 30, rows: 61 })
  expect(startOf(reports.slice(0, 3))).toBeUndefined()
})

it('returns the same times and predecessors from the start on as for the whole track', () => {
  fc.assert(
    fc.property(track, fc.nat(), ({ reports }, from) => {
      const known = reports.slice(from % reports.length)
      const start = createStartSearch(policy).take(known.toReversed())
      fc.pre(start !== undefined)
      const directions = (fixes: ReturnType<typeof distinctFixes>) =>
        fixes.flatMap((fix, index) => {
          const before = fixes[index - 1]
          const isNear = before !== undefined && fix.timeMs - before.timeMs <= 60_000
          const seen = [fix.timeMs, fix.lat, fix.lon, ...(isNear ? [before.timeMs, before.lat, before.lon] : [])]
          return fix.timeMs >= start.rowsFromMs ? [seen] : []
        })
      const whole = distinctFixes(reports)
      expect(directions(distinctFixes(known.filter(({ tsMs }) => tsMs >= start.reportsFromMs)))).toEqual(
        directions(whole),
      )
      const first = whole.findIndex(({ timeMs }) => timeMs >= start.rowsFromMs)
      const [before, fix] = [whole[first - 1], whole[first]]
      expect(before && fix && isFreshStart(before, fix, policy)).toBe(true)
    }),
    { numRuns: 300 },
  )
})
