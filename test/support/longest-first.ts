import { readFileSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Runs the files first that are likely to take longest, so that no worker is left with one at the end: those with a browser,
 * then those that extend the time limit of a test. Within these, as vitest does: by the time of the last run, then by size.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = new Map(sorted.map((file) => [file, rankOf(file.moduleId)]))
    return sorted.sort((one, other) => (rank.get(one) ?? 0) - (rank.get(other) ?? 0))
  }
}

function rankOf(path: string): number {
  if (path.endsWith('.browser.test.ts')) return 0
  return /timeout/i.test(readFileSync(path, 'utf8')) ? 1 : 2
}
