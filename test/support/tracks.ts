import fc from 'fast-check'
import type { FixReport } from '#telemetry/position/distinct-fixes'
import { fieldsOf } from '#telemetry/report/fields'
import type { CellularRow } from '#telemetry/report/rows'

const startMs = Date.UTC(2026, 0, 1)
const metre = 1 / 111_195

/** Returns a cellular row that is not aligned. */
export function cellularRow(tsMs: number, fields: Partial<CellularRow> = {}): CellularRow {
  const empty = Object.fromEntries(fieldsOf('cellular').map(([name]) => [name, null]))
  return {
    ...(empty as unknown as CellularRow),
    kind: 'cellular',
    tsMs,
    tsCorrected: false,
    alignedLat: null,
    alignedLon: null,
    alignment: 'none',
    alignErrorM: null,
    alignedFixAgeMs: null,
    h3Res10: null,
    h3Res5: null,
    lostPlmn: null,
    ...fields,
  }
}

/** The modems of a device: the only one, which has no name, or two that sample at the same times. */
export const modems = fc.constantFrom<(string | null)[][]>([null], ['wwan0', 'wwan1'])

const leg = fc.record({
  /** Standing, moving slowly, driving, or jumping. */
  stepM: fc.constantFrom(0, 0, 3, 20, 90, 250, 800),
  intervalS: fc.constantFrom(1, 5, 30, 120, 1000),
  reports: fc.integer({ min: 1, max: 12 }),
  speedMps: fc.constantFrom(null, 0, 1.9, 8, 25),
  headingDeg: fc.constantFrom(null, 0, 80, 200),
  lagMs: fc.constantFrom(null, 0, 700, 4000),
  bearing: fc.constantFrom(0, 1, 2, 3),
})

/** Generates fixes and times of RF samples of one device over some hours, in order. It stands, drives, jumps and is silent. */
export const track = fc.array(leg, { minLength: 1, maxLength: 12 }).map((legs) => {
  const reports: FixReport[] = []
  const sampleTimes = new Set<number>()
  let tsMs = startMs
  let [north, east] = [0, 0]
  for (const { stepM, intervalS, reports: count, speedMps, headingDeg, lagMs, bearing } of legs) {
    for (let index = 0; index < count; index++) {
      tsMs += intervalS * 1000
      north += stepM * ([1, 0, -1, 0][bearing] ?? 0)
      east += stepM * ([0, 1, 0, -1][bearing] ?? 0)
      const position = { lat: 50 + north * metre, lon: east * metre * 1.5 }
      reports.push({
        tsMs,
        ...position,
        fixTs: lagMs === null ? null : tsMs - lagMs,
        accuracyM: 5 + (index % 3),
        speedMps,
        headingDeg,
      })
      for (const offset of [0, 300, Math.floor(intervalS * 500)]) sampleTimes.add(tsMs + offset)
    }
  }
  return { reports, sampleTimes: [...sampleTimes].sort((a, b) => a - b) }
})
