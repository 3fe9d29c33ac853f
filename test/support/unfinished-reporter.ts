import { relative } from 'node:path'
import type { Reporter, TestCase, TestModule } from 'vitest/node'

const longMs = 5 * 60_000

/**
 * Prints which files and tests have not finished when the run is ended by a signal, and each file that takes longer than five minutes:
 * the tests of a file that never ends are not printed otherwise.
 */
export function unfinishedReporter(print: (line: string) => void = console.log): Reporter {
  const modules = new Map<TestModule, { sinceMs: number; timer: NodeJS.Timeout }>()
  const tests = new Map<TestCase, number>()

  function describe(module: TestModule): string {
    const running = [...tests].filter(([test]) => test.module === module)
    const named = running.map(([{ fullName }, sinceMs]) => `    ${fullName} (${secondsSince(sinceMs)} s)`)
    const seconds = secondsSince(modules.get(module)?.sinceMs ?? Date.now())
    return [`  ${relative(process.cwd(), module.moduleId)} (${seconds} s)`, ...named].join('\n')
  }
  const printAll = () => print(['Not finished:', ...[...modules.keys()].map(describe)].join('\n'))

  return {
    onInit: () => {
      process.once('SIGTERM', printAll)
    },
    onTestModuleStart: (module) => {
      const timer = setTimeout(() => print(`Still runs:\n${describe(module)}`), longMs)
      modules.set(module, { sinceMs: Date.now(), timer: timer.unref() })
    },
    onTestCaseReady: (test) => {
      tests.set(test, Date.now())
    },
    onTestCaseResult: (test) => {
      tests.delete(test)
    },
    onTestModuleEnd: (module) => {
      clearTimeout(modules.get(module)?.timer)
      modules.delete(module)
    },
  }
}

const secondsSince = (ms: number): number => Math.round((Date.now() - ms) / 1_000)
