import { repeat } from '#core/schedule'
import { loadPlans } from '#fleet/organizations/plans'
import { connectionLimit, countRefusedConnections } from '#http/connection-limit'
import { NotReadyError, type ReadinessCheck } from '#http/health'
import { createHttpMetrics } from '#http/metrics'
import { openTracing } from '#http/open-tracing'
import { createLogger, type Logger } from '#http/request-log'
import { startListening } from '#http/server'
import { followDatabaseClock } from '#postgres/clock'
import { createFairPool } from '#postgres/fair-pool'
import { listen } from '#postgres/listen'
import { openPool } from '#postgres/pool'
import { onlyQuestdbServer, questdbServers } from '#questdb/server/servers'
import { kafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import { refuseUnstoredSegments } from '#telemetry-log/segments/partitioned-log'
import { createPostgresTeller } from '#telemetry-writer/tell-postgres'
import { followAccessNotices } from './access/access-notices.ts'
import { createDeviceAccess } from './access/device-access.ts'
import { createFailedAuthentications } from './access/failed-authentications.ts'
import { type IngestConfig, proxyHopsOf, segmentFilesNeedOneServer } from './config.ts'
import { createDeviceEdge } from './device-edge.ts'
import { createDeviceTraffic } from './http/device-traffic.ts'
import { followJobNotices } from './jobs/follow-notices.ts'
import { createOpenJobs } from './jobs/open-jobs.ts'
import type { ReportStore } from './report-store.ts'
import { openSegmentStore, type SegmentStoreParts } from './segment-store.ts'

/**
 * Opens the log, starts its writers unless it is on Kafka, and listens. `failed` resolves with the reason if the process must
 * exit.
 */
export async function startIngest(config: IngestConfig) {
  const logger = createLogger('ingest', config.LOG_LEVEL)
  const metrics = createHttpMetrics()
  const plans = await loadPlans(config.PLANS_FILE)
  const retentionDays = Math.max(...Object.values(plans).map((plan) => plan.historyDays))
  const pool = openPool(config.POSTGRES_URL, {
    applicationName: 'ingest',
    maxConnections: config.POSTGRES_MAX_CONNECTIONS,
    keepOpen: config.POSTGRES_MAX_CONNECTIONS,
  })
  const pools = createFairPool(pool, config.POSTGRES_MAX_CONNECTIONS)
  const databaseClock = followDatabaseClock(pools.internal('clock'))
  const { clock } = databaseClock
  const teller = createPostgresTeller({
    ...{ poolOf: pools.internal, plans, logger },
    onAwaited: (organizations) => store.awaitMoments(organizations),
  })
  const openJobs = createOpenJobs(pools.internal('open-jobs'))
  const access = createDeviceAccess({ db: pools.internal('access'), plans, clock })
  const { DEVICE_REQUESTS_PER_MINUTE: requestsPerMinute, DEVICE_REQUEST_BURST: burst } = config
  const traffic = createDeviceTraffic({ requestsPerMinute, burst })
  const store = await openStore({
    ...{ config, logger, retentionDays, traffic, registry: metrics.registry },
    onStored: teller.add,
  })
  const { backlog, failed } = store
  const redis = await openRedis(config)
  const checks = [readinessOf(store)]
  const { tracing, stop: stopTracing } = await openTracing('ingest', config.OTEL_EXPORTER_OTLP_ENDPOINT)
  const { serve, mailbox } = createDeviceEdge({
    ...{
      config,
      pools,
      plans,
      clock,
      access,
      traffic,
      openJobs,
      store,
      retentionDays,
      checks,
      tracing,
      metrics,
      logger,
    },
    failedAuthentications: createFailedAuthentications(proxyHopsOf(config), redis),
    onAccepted: teller.seen,
  })
  const { HOST: host, PORT: port } = config
  const server = await startListening(serve, { host, port, maxConnections: connectionLimit() })
  countRefusedConnections(metrics.registry, server)

  const accessNotices = followAccessNotices(pools.internal('access'), access)
  const listening = listen(config.POSTGRES_URL, [accessNotices, followJobNotices(mailbox, openJobs)])
  const ignore = () => {}
  async function tellPostgres(): Promise<void> {
    const confirm = store.confirmation()
    if (await teller.flush()) confirm()
  }
  const repeating = [
    repeat(1_000, tellPostgres, ignore),
    repeat(1_000, openJobs.refresh, ignore),
    repeat(1_000, teller.refresh, ignore),
    repeat(1_000, async () => backlog.measure(), ignore),
  ]

  /** Closes all parts after the last request. Closes the log and updates Postgres. */
  async function close(): Promise<void> {
    await store.close()
    await Promise.all([accessNotices.stop(), listening.stop(), ...repeating.map((repeated) => repeated.stop())])
    await databaseClock.stop()
    await teller.flush()
    redis?.disconnect()
    await pool.end()
    await stopTracing()
  }
  return { server, logger, checks, failed, beginStop: mailbox.close, close }
}

/** Loaded only if it is used: without it, its client takes no memory. */
const openRedis = async ({ REDIS_URL: url }: IngestConfig) =>
  url ? (await import('#http/rate-limit-store')).openRateLimitStore(url) : undefined

/** Opens the log on Kafka if it is configured, otherwise in segment files with their writers. */
async function openStore(parts: Omit<SegmentStoreParts, 'questdb'> & { logger: Logger }): Promise<ReportStore> {
  const { config, registry, logger } = parts
  const kafka = kafkaSettings(config)
  if (!kafka) return openSegmentStore({ ...parts, questdb: onlyQuestdbServer(config, segmentFilesNeedOneServer) })
  // With Kafka, this process does not use QuestDB. The settings are checked all the same.
  questdbServers(config)
  await refuseUnstoredSegments(config.LOG_DIR)
  // Loaded only if it is used, as the client of Redis.
  return (await import('./kafka-store.ts')).openKafkaStore({ settings: kafka, registry, logger })
}

/** Ready while the log accepts reports. */
function readinessOf({ whyNotReady, backlog, failed }: ReportStore): ReadinessCheck {
  let hasFailed = false
  failed.then(() => {
    hasFailed = true
  })
  return {
    name: 'telemetry-log',
    async check() {
      const reason = whyNotReady()
      if (reason !== undefined) throw new NotReadyError(reason)
      if (hasFailed || backlog.isFull()) throw new Error('The log does not accept reports.')
    },
  }
}

/** Returns a readiness check that fails while `refuses` returns true. */
export function refuseWhen(name: string, refuses: () => boolean): ReadinessCheck {
  return {
    name,
    check: async () => {
      if (refuses()) throw new Error(`${name} is not ready`)
    },
  }
}
