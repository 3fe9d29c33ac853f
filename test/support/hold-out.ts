import { distanceM } from '#telemetry/geo/geo'
import { maxInterpolation } from '#telemetry/position/align'
import { type DistinctFix, distinctFixes, type FixReport, fixReport } from '#telemetry/position/distinct-fixes'
import { decodeBatch } from '#telemetry/report/accept'
import { cleanSample } from '#telemetry/report/clean'
import type { CellularRow } from '#telemetry/report/rows'
import type { Drive } from './drives.ts'

/** Longer gaps between fixes are not used, because the positions in between are not known. */
const maxGapMs = 40_000
const batchSize = 500

type Rows = { reports: FixReport[]; samples: CellularRow[] }

/** Decodes and cleans a drive. Later samples of a second replace earlier ones. */
export function cleanDrive(drive: Drive): Rows {
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

/** Splits the reports: every other distinct fix is kept, and the dropped fixes are the positions to predict. */
export function holdOut(reports: readonly FixReport[]): { kept: FixReport[]; dropped: DistinctFix[] } {
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

/** Summarizes the errors of predictions. `covered` is the number of predictions within their own `alignErrorM`. */
export function holdOutFigures(errorsM: readonly number[], covered: number) {
  const sorted = errorsM.toSorted((a, b) => a - b)
  return {
    positions: sorted.length,
    p50M: percentile(sorted, 0.5),
    p90M: percentile(sorted, 0.9),
    withinAlignErrorShare: covered / sorted.length,
  }
}

const percentile = (sorted: readonly number[], share: number) =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
