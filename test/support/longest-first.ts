import { readFileSync } from 'node:fs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Runs the files first that are likely to take longest, so that no worker is left with one at the end: those with a browser,
 * then those that extend the time limit of a test. Within these, as vitest does: by the time of the last run, then by size.
 *
 * Files that start the whole product are apart from each other: several of them at once make all of them slow.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = new Map(sorted.map((file) => [file, rankOf(file.moduleId)]))
    const longestFirst = sorted.toSorted((one, other) => (rank.get(one) ?? 0) - (rank.get(other) ?? 0))
    return apart(longestFirst, ({ moduleId }) => startsProduct(moduleId))
  }
}

function rankOf(path: string): number {
  if (path.endsWith('.browser.test.ts')) return 0
  return /timeout/i.test(readFileSync(path, 'utf8')) ? 1 : 2
}

const startsProduct = (path: string): boolean =>
  /browserSession\(|startProduct(?:Process)?\(/.test(readFileSync(path, 'utf8'))

const between = 2

/** Puts `between` other items behind each one that is large, as long as there are others. Keeps both in their order. */
function apart<Item>(items: readonly Item[], isLarge: (item: Item) => boolean): Item[] {
  const large = items.filter(isLarge)
  const others = items.filter((item) => !isLarge(item))
  const mixed = large.flatMap((item, index) => [item, ...others.slice(index * between, (index + 1) * between)])
  return [...mixed, ...others.slice(large.length * between)]
}
