import { defineConfig } from 'vitest/config'
import { compileCache } from './test/support/child-environment.ts'
import { LongestFirst } from './test/support/longest-first.ts'
import { summaryReporter } from './test/support/summary-reporter.ts'
import { unfinishedReporter } from './test/support/unfinished-reporter.ts'

const never = ['**/node_modules/**', '**/dist/**', 'test/faults/**', 'test/attacks/**']

/** The tests of a kind. The name of a file says what its tests need; `*.test.ts` alone needs neither Postgres nor QuestDB. */
const testsOf = (kind: string) => `{apps,clients,libs,test}/**/*${kind}.test.ts`

process.env.NODE_COMPILE_CACHE = compileCache

/** The default of one second is too short for a page that renders in software or for a report, beside other tests. */
const patient = { timeout: 40_000 }

const onEngines = { globalSetup: ['test/support/engines.ts'] }

/**
 * `unit` answers within seconds; `engines` and `cluster` run on a real Postgres and a real QuestDB, started once for the run;
 * the files of `browser` start the whole product.
 */
export default defineConfig({
  test: {
    reporters: ['default', summaryReporter(), unfinishedReporter()],
    pool: 'forks',
    // Node imports the modules itself: without a transform and a registry of its own, a run takes a tenth less CPU.
    experimental: { viteModuleRunner: false },
    // Most files wait for timers and processes most of the time, so there are more workers than two cores.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: patient },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [testsOf('')],
          exclude: [...never, ...['.engine', '.browser', '.cluster'].map(testsOf)],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'engines',
          include: [testsOf('.engine')],
          exclude: never,
          isolate: false,
          ...onEngines,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: [testsOf('.browser')],
          exclude: never,
          // Each look at a page takes time of a core from what it waits for.
          expect: { poll: { ...patient, interval: 200 } },
        },
      },
      { extends: true, test: { name: 'cluster', include: [testsOf('.cluster')], exclude: never, ...onEngines } },
    ],
  },
})
