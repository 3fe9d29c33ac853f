import type { ReplayOutcome } from './replay.ts'

/**
 * Returns the lines that a replay prints, and whether no letter remains. `reports` says what was done with reports;
 * `forgetDeleted`: letters of deleted devices were removed.
 */
export function summaryOf(
  fates: ReadonlyMap<ReplayOutcome, number>,
  { reports, forgetDeleted }: { reports: string; forgetDeleted: boolean },
): { text: string; isComplete: boolean } {
  const count = (fate: ReplayOutcome) => fates.get(fate) ?? 0
  const deleted = forgetDeleted ? 0 : count('deleted')
  const text = [
    `Stored: ${count('stored')} rows. ${reports}: ${count('logged')} reports.`,
    `Dropped: ${count('superseded')} older than what is stored, ${count('erased')} erased.`,
    `Kept: ${count('refused')} refused, ${deleted} of deleted devices, ${count('unreadable')} unreadable.`,
  ].join('\n')
  return { text, isComplete: count('refused') + deleted + count('unreadable') === 0 }
}
