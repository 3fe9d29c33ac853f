import type { components } from '../openapi.ts'
import { table } from './table.ts'

type JobBatchPlan = components['schemas']['JobBatchPlan']

/** What a dry run would create, as text. */
export function planText({ kind, total, skippedReasons, stages }: JobBatchPlan): string {
  const skipped = Object.entries(skippedReasons).map(([reason, count]) => `${count} skipped (${reason})`)
  const summary = [`${kind} for ${total} devices`, ...skipped].join(', ')
  const rows = stages.map(({ devices, earliestAt }, index) => [String(index + 1), String(devices), earliestAt])
  return `Would create: ${summary}.\n${rows.length > 0 ? table(['STAGE', 'DEVICES', 'NOT BEFORE'], rows) : ''}`.trimEnd()
}
