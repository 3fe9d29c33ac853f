import { defineConfig } from 'vitest/config'
import { summaryReporter } from './test/support/summary-reporter.ts'

const never = ['**/node_modules/**', '**/dist/**', 'test/faults/**', 'test/attacks/**']

/** Tests that need neither Postgres nor QuestDB. A file that needs one and is listed here fails at once. */
const unitTests = [
  'libs/{adapters,core,telemetry}/**/*.test.ts',
  'libs/telemetry-log/{checkpoint-file,kafka-checkpoints,dead-letters,kafka-failure,kafka-reader,kafka-settings,lock,partition,partitioned-log,segment-log}.test.ts',
  'libs/postgres/hosts.test.ts',
  'libs/http/open-tracing.test.ts',
  'libs/questdb/{copy-choice,coverage-areas,first-refreshes,h3-index,servers,view-pace}.test.ts',
  'libs/fleet/jobs/model/*.test.ts',
  'libs/fleet/config-profiles/settings.test.ts',
  'libs/fleet-map/{bounded-caches,shared-lists,gps/{selection,shared-answers},live/*,tiles/*}.test.ts',
  'libs/telemetry-writer/{checkpoints,dead-letter-keeper,device-track,flush-scheduler,hostile-shapes,packed-states,realign-device,realign-turns,resting-states,state-file,stored-times,view-upkeep}.test.ts',
  'libs/{queue/coalesce,redis/address}.test.ts',
  'apps/control-plane/{devices/import-rows,http/csv,http/map-background,http/openapi}.test.ts',
  'apps/gateway/**/*.test.ts',
  'clients/typescript/test/*.test.ts',
  'apps/ingest/{access/device-access,jobs/open-jobs,report/device-traffic,report/report-cost}.test.ts',
  'apps/router-agent/{backoff,drive-source,job-runner,sample-buffer}.test.ts',
  'apps/router-agent/world/*.test.ts',
  'apps/stack/{backup/backup-folder,engines/credentials}.test.ts',
  'test/browser/{map-request,place-click,tile-feed}.test.ts',
  'test/repository/{adapters-page,compose-kafka,documents,import-direction,kubernetes,packages,unsafe-patterns}.test.ts',
]

/**
 * Tests that start brokers, several copies, partitions or whole installations, or that install packages, and long tests of the
 * page. They would double the time of `npm test`.
 */
const clusterTests = [
  'apps/ingest/writer/partitions.test.ts',
  'apps/stack/engines/kafka.test.ts',
  'apps/writer/*.test.ts',
  'test/browser/{jobs,map-manners,operations,past-views,people,profiles}.test.ts',
  'test/client/{command-line,package}.test.ts',
  'test/e2e/{adapters,gateway,openwrt}/*.test.ts',
  'libs/telemetry-log/{kafka-cluster,kafka-group-hold,kafka-log,log-kinds}.test.ts',
  'test/e2e/{arrival-orders,backup,cluster,copies,dashboards,kafka,kafka-security,postgres-failover,questdb-copies,questdb-schema,redis-cluster,rolling-upgrade}.test.ts',
]

const onEngines = { globalSetup: ['test/support/engines.ts'] }

/**
 * `unit` answers within seconds; `engines` and `cluster` run on a real Postgres and a real QuestDB, started once for the run.
 */
export default defineConfig({
  test: {
    reporters: ['default', summaryReporter()],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The default of one second is too short for a page that renders in software beside other tests.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      { extends: true, test: { name: 'unit', include: unitTests, exclude: never, isolate: false } },
      {
        extends: true,
        test: {
          name: 'engines',
          include: ['apps/**/*.test.ts', 'libs/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...never, ...unitTests, ...clusterTests],
          ...onEngines,
        },
      },
      { extends: true, test: { name: 'cluster', include: clusterTests, exclude: never, ...onEngines } },
    ],
  },
})
