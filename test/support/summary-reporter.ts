import { mkdirSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestCase } from 'vitest/node'

const summaryFile = '.cache/test-summary.json'

/**
 * Prints at the end which tests were skipped and why, and writes the counts to `.cache/test-summary.json` for the CI script.
 */
export function summaryReporter(print: (line: string) => void = console.log): Reporter {
  return {
    onTestRunEnd: (modules, errors) => {
      const count = (state: 'passed' | 'failed') =>
        modules.reduce((sum, module) => sum + [...module.children.allTests(state)].length, 0)
      const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')])
      // A file that cannot be loaded and an error outside a test fail the run without a failed test.
      const broken = modules.filter((module) => module.errors().length > 0).length + errors.length
      const summary = { passed: count('passed'), failed: count('failed') + broken, skipped: skipped.length }
      mkdirSync('.cache', { recursive: true })
      writeFileSync(summaryFile, `${JSON.stringify(summary)}\n`)
      if (skipped.length === 0) print('Nothing was skipped.')
      else print(['Skipped, and why:', ...reasons(skipped)].join('\n'))
    },
  }
}

function reasons(skipped: TestCase[]): string[] {
  const counts = new Map<string, number>()
  for (const test of skipped) {
    const result = test.result()
    const why = (result.state === 'skipped' && result.note) || 'no reason given'
    const key = `${relative(process.cwd(), test.module.moduleId)}: ${why}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts].map(([key, count]) => `  ${key} (${count} ${count === 1 ? 'test' : 'tests'})`)
}
