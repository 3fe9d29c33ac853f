import { expect, it } from 'vitest'
import { type Drive, drivesMissing, readDrives } from '#test/drives'
import { cellularRow } from '#test/tracks'
import { decodeBatch } from './accept.ts'
import { align, maxInterpolation } from './align.ts'
import { cleanSample } from './clean.ts'
import { createDeviceAlignment } from './device-alignment.ts'
import { type DistinctFix, distinctFixes, type FixReport, fixReport } from './distinct-fixes.ts'
import { dwellPolicies } from './dwell.ts'
import { distanceM } from './geo.ts'
import type { CellularRow } from './rows.ts'

const policy = dwellPolicies.vehicle
const maxGapMs = 40_000
const batchSize = 500

type Rows = { reports: FixReport[]; samples: CellularRow[] }

/** A drive on its way through decoding and cleaning, later samples of a second replacing earlier ones. */
function cleanDrive(drive: Drive): Rows {
  const reports = new Map<number, FixReport>()
  const samples = new Map<number, CellularRow>()
  for (let start = 0; start < drive.samples.length; start += batchSize) {
    const body = JSON.stringify({ samples: drive.samples.slice(start, start + batchSize) })
    const batch = decodeBatch(Buffer.from(body), 'json', { receivedAtMs: Date.UTC(2027, 0, 1), oldestTsMs: 0 })
    if (!batch.ok) throw new Error(batch.detail)
    for (const accepted of batch.samples) {
      const row = cleanSample(accepted, () => {})
      if (row.kind === 'cellular') samples.set(row.tsMs, row)
      const report = row.kind === 'location' ? fixReport(row) : null
      if (report !== null) reports.set(report.tsMs, report)
    }
  }
  const byTime = (a: { tsMs: number }, b: { tsMs: number }) => a.tsMs - b.tsMs
  return { reports: [...reports.values()].sort(byTime), samples: [...samples.values()].sort(byTime) }
}

/** Reports of every other distinct fix; what was left out comes back as the truth to be predicted. */
function holdOut(reports: readonly FixReport[]): { kept: FixReport[]; dropped: DistinctFix[] } {
  const fixes = distinctFixes(reports)
  const dropped = fixes.filter((_, index) => {
    const [before, behind] = [fixes[index - 1], fixes[index + 1]]
    if (index % 2 === 0 || before === undefined || behind === undefined) return false
    return behind.timeMs - before.timeMs <= maxGapMs && distanceM(before, behind) <= maxInterpolation.metres
  })
  const isDropped = ({ tsMs }: FixReport) =>
    dropped.some(({ firstReportMs, lastReportMs }) => tsMs >= firstReportMs && tsMs <= lastReportMs)
  return { kept: reports.filter((report) => !isDropped(report)), dropped }
}

const percentile = (sorted: readonly number[], share: number) =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN

it.skipIf(drivesMissing !== null)(
  `predicts held-out fixes of real drives${drivesMissing === null ? '' : ` (skipped: ${drivesMissing})`}`,
  () => {
    const errorsM: number[] = []
    const carriedErrorsM: number[] = []
    let covered = 0
    for (const drive of readDrives()) {
      const { kept, dropped } = holdOut(cleanDrive(drive).reports)
      const keptFixes = distinctFixes(kept)
      const { rows } = align(
        kept,
        dropped.map(({ timeMs }) => cellularRow(timeMs)),
        policy,
      )
      for (const [index, truth] of dropped.entries()) {
        const row = rows[index]
        const before = keptFixes.findLast(({ timeMs }) => timeMs <= truth.timeMs)
        if (row?.alignedLat == null || row.alignedLon === null || row.alignErrorM === null || before === undefined) {
          throw new Error('a fix between two others was not predicted')
        }
        const errorM = distanceM(truth, { lat: row.alignedLat, lon: row.alignedLon })
        errorsM.push(errorM)
        carriedErrorsM.push(distanceM(truth, before))
        if (errorM <= row.alignErrorM) covered++
      }
    }
    errorsM.sort((a, b) => a - b)
    carriedErrorsM.sort((a, b) => a - b)
    const figures = {
      positions: errorsM.length,
      p50M: percentile(errorsM, 0.5),
      p90M: percentile(errorsM, 0.9),
      carriedForwardP50M: percentile(carriedErrorsM, 0.5),
      carriedForwardP90M: percentile(carriedErrorsM, 0.9),
      withinAlignErrorShare: covered / errorsM.length,
    }
    console.log('hold-out of real drives', figures)
    expect(figures.positions).toBeGreaterThan(300)
    expect(figures.p50M).toBeLessThanOrEqual(15)
    expect(figures.p90M).toBeLessThanOrEqual(50)
    expect(figures.withinAlignErrorShare).toBeGreaterThanOrEqual(0.9)
    expect(figures.withinAlignErrorShare).toBeLessThanOrEqual(0.99)
  },
)

it.skipIf(drivesMissing !== null)('cleans what real radios write for "no value"', () => {
  const sentinels = new Set([-200, 2_147_483_647])
  for (const drive of readDrives()) {
    const values = cleanDrive(drive).samples.flatMap((row) => Object.values(row))
    expect(values.filter((value) => value === '-' || (typeof value === 'number' && sentinels.has(value)))).toEqual([])
  }
})

it.skipIf(drivesMissing !== null)(
  'aligns real drives second by second as it does at once, and finds their stays',
  () => {
    for (const drive of readDrives()) {
      const { reports, samples } = cleanDrive(drive)
      const alignment = createDeviceAlignment(policy)
      const stored = new Map<number, CellularRow>()
      const closed = []
      let open = null
      for (let index = 0; index < samples.length; index++) {
        const row = samples[index]
        if (row === undefined) continue
        const step = alignment.apply(
          reports.filter(({ tsMs }) => tsMs === row.tsMs),
          [row],
        )
        for (const written of step.rows) stored.set(written.tsMs, written)
        closed.push(...step.closed)
        open = step.open
      }
      const { rows, dwells } = align(reports, samples, policy)
      expect(open === null ? closed : [...closed, open]).toEqual(dwells)
      const isOpenDwell = ({ tsMs }: CellularRow) => open !== null && tsMs >= open.arrivedAtMs
      const closedDwellOfManyFixes = ({ tsMs }: CellularRow) =>
        dwells.some((dwell) => dwell.fixCount > 1 && tsMs >= dwell.arrivedAtMs && tsMs <= dwell.lastInsideAtMs)
      // Rows inside a dwell are placed again once its centre is known; that is the realignment's work.
      const settled = rows.filter((row) => !isOpenDwell(row) && !closedDwellOfManyFixes(row))
      expect(settled.map(({ tsMs }) => stored.get(tsMs))).toEqual(settled)
      const stays = dwells.map(({ lat, lon, arrivedAtMs, lastInsideAtMs, radiusM }) => ({
        place: `${lat.toFixed(5)} ${lon.toFixed(5)}`,
        minutes: Number(((lastInsideAtMs - arrivedAtMs) / 60_000).toFixed(1)),
        radiusM: Math.round(radiusM),
      }))
      console.log(drive.name, stays)
    }
  },
)
