import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { latLngToCell } from 'h3-js'
import { expect, it } from 'vitest'
import { type CoverageVote, coverageCell, tallyVotes } from './coverage.ts'

// A measured survey of RSRP by grid square and cell (Liu and Peng, INFOCOM 2023), with its authors' own percentiles.
const file = join(import.meta.dirname, '../../../../shared/data/infocom23/grid-rss.csv')
const missing = existsSync(file) ? null : 'The survey is not beside the repository (../shared/data/infocom23).'

type Square = Record<string, string>
const number = (square: Square, column: string) => Number(square[column])

/** The measurements themselves: the survey gives quartiles, which are all there is of one, two, three or five of them. */
const measuredAt: Record<number, string[]> = {
  1: ['rsrp_50'],
  2: ['rsrp_0', 'rsrp_100'],
  3: ['rsrp_0', 'rsrp_50', 'rsrp_100'],
  5: ['rsrp_0', 'rsrp_25', 'rsrp_50', 'rsrp_75', 'rsrp_100'],
}

const minuteMs = 60_000
const startMs = Date.UTC(2026, 0, 1)

function votesOf(square: Square, values: readonly number[]): CoverageVote[] {
  const h3 = latLngToCell(number(square, 'grid_lat'), number(square, 'grid_lon'), 10)
  return values.map((rsrpDbm, index) => ({
    deviceId: 'surveyor',
    h3,
    tsMs: startMs + index * minuteMs,
    rat: square.rat ?? null,
    plmn: null,
    rsrpDbm,
    sinrDb: null,
  }))
}

/** The measurements around the place that a share has among them, where any notion of a percentile lies. */
function around(sorted: readonly number[], share: number): [number, number] {
  const place = share * (sorted.length - 1)
  return [sorted[Math.floor(place)] ?? Number.NaN, sorted[Math.ceil(place)] ?? Number.NaN]
}

it('agrees with a published survey about percentiles', ({ skip }) => {
  if (missing) return skip(missing)
  const squares = (parse(readFileSync(file), { columns: true }) as Square[]).filter(
    (square) => measuredAt[number(square, 'sample')] !== undefined && square.rsrp_50 !== 'None',
  )
  expect(squares.length).toBeGreaterThan(1_000)
  for (const square of squares) {
    const values = (measuredAt[number(square, 'sample')] ?? []).map((column) => number(square, column))
    const [tally] = tallyVotes(votesOf(square, values)).values()
    if (!tally) throw new Error('a square without votes')
    const { rsrpDbm, samples } = coverageCell(tally)
    expect(samples).toBe(values.length)
    const found = [rsrpDbm.p10, rsrpDbm.p50, rsrpDbm.p90].map(Number)
    expect(found).toEqual([...found].sort((a, b) => a - b))
    for (const [index, share] of [0.1, 0.5, 0.9].entries()) {
      const [below, above] = around(values, share)
      const theirs = number(square, `rsrp_${share * 100}`)
      expect(theirs).toBeGreaterThanOrEqual(below - 1e-9)
      expect(theirs).toBeLessThanOrEqual(above + 1e-9)
      // Theirs are interpolated and ours are measurements, in whole dB.
      expect(found[index]).toBeGreaterThanOrEqual(below - 1)
      expect(found[index]).toBeLessThanOrEqual(above + 1)
    }
  }
})
