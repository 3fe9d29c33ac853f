import type { SampleCounts } from '#telemetry-log/checkpoints/checkpoint'
import type { ReportCounts } from './report-rows.ts'

export const noCounts: SampleCounts = { stored: 0, replaced: 0, deadLettered: 0 }

/** What a report counts as beside its rows, which count when they are stored. */
export const rowlessIn = ({ superseded, lost }: ReportCounts): SampleCounts => ({
  stored: 0,
  replaced: superseded,
  deadLettered: lost,
})

export const sumCounts = (a: SampleCounts, b: SampleCounts): SampleCounts => ({
  stored: a.stored + b.stored,
  replaced: a.replaced + b.replaced,
  deadLettered: a.deadLettered + b.deadLettered,
})
