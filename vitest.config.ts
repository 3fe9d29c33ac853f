import { defineConfig } from 'vitest/config'
import { summaryReporter } from './test/support/summary-reporter.ts'

const never = ['**/node_modules/**', '**/dist/**', 'test/faults/**', 'test/attacks/**']
const pureLibraries = ['libs/core/**/*.test.ts', 'libs/telemetry/**/*.test.ts']

/** `pure` needs no engines and answers in a second; `engines` gets a real Postgres and a real QuestDB for the run. */
export default defineConfig({
  test: {
    reporters: ['default', summaryReporter()],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'pure', include: pureLibraries, exclude: never } },
      {
        extends: true,
        test: {
          name: 'engines',
          include: ['apps/**/*.test.ts', 'libs/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...never, ...pureLibraries],
          globalSetup: ['test/support/engines.ts'],
        },
      },
    ],
  },
})
