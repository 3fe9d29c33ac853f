import type { components } from '../openapi.ts'
import { table } from './table.ts'

type JobBatchPlan = components['schemas']['JobBatchPlan']

/** What a dry run would create, as text. */
export function planText({ kind, total, skipped: left, skippedReasons, stages }: JobBatchPlan): string {
  const skipped = Object.entries(skippedReasons).map(([reason, count]) => `${count} skipped (${reason})`)
  const summary = [`${kind} for ${total} devices`, ...skipped].join(', ')
  const rows = stages.map(({ devices, earliestAt }, index) => [String(index + 1), String(devices), earliestAt])
  const missing = missingRows(left)
  return [
    `Would create: ${summary}.`,
    ...(rows.length > 0 ? [table(['STAGE', 'DEVICES', 'NOT BEFORE'], rows)] : []),
    ...(missing.length > 0 ? [table(['MISSING VARIABLE', 'DEVICES', 'FOR EXAMPLE'], missing)] : []),
  ].join('\n')
}

/** For each variable without a value: its name, the number of devices, and the id of the first one. */
function missingRows(skipped: JobBatchPlan['skipped']): string[][] {
  const devices = new Map<string, string[]>()
  for (const { deviceId, variables = [] } of skipped) {
    for (const name of variables) {
      const found = devices.get(name)
      if (found) found.push(deviceId)
      else devices.set(name, [deviceId])
    }
  }
  return [...devices].map(([name, [first = '', ...others]]) => [name, String(1 + others.length), first])
}
