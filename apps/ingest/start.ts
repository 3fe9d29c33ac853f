import { repeat } from '#core/schedule'
import { nextJobPath } from '#device-edge/contract'
import { createKeyring } from '#fleet/crypto/keyring'
import { loadPlans } from '#fleet/organizations/plans'
import { createBodyBudget, registerBodyMetrics } from '#http/body-budget'
import { connectionLimit, countRefusedConnections } from '#http/connection-limit'
import { NotReadyError, type ReadinessCheck } from '#http/health'
import { createHttpMetrics } from '#http/metrics'
import { openTracing } from '#http/open-tracing'
import { createLogger } from '#http/request-log'
import { requestListener, startListening } from '#http/server'
import { followDatabaseClock } from '#postgres/clock'
import { createFairPool } from '#postgres/fair-pool'
import { listen } from '#postgres/listen'
import { openPool } from '#postgres/pool'
import { onlyQuestdbServer, questdbServers } from '#questdb/server/servers'
import { kafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import { refuseUnstoredSegments } from '#telemetry-log/segments/partitioned-log'
import { createDwellAnnouncer } from '#telemetry-writer/reports/dwell-announcer'
import type { ToldByRows } from '#telemetry-writer/states/device-reports'
import { createPresence } from '#telemetry-writer/states/presence'
import { followAccessNotices } from './access/access-notices.ts'
import { createDeviceAccess } from './access/device-access.ts'
import { enrollRoute, unauthenticatedBodies } from './access/enroll.ts'
import { createFailedAuthentications } from './access/failed-authentications.ts'
import { tokenCheckRoute } from './access/token-check.ts'
import { createApp } from './app.ts'
import { type Config, proxyHopsOf, segmentFilesNeedOneServer } from './config.ts'
import { configRoute } from './jobs/device-config.ts'
import { followJobNotices } from './jobs/follow-notices.ts'
import { createMailbox } from './jobs/mailbox.ts'
import { registerMailboxMetrics } from './jobs/metrics.ts'
import { createNextJobRoute } from './jobs/next-route.ts'
import { createOpenJobs } from './jobs/open-jobs.ts'
import { jobStatusRoute } from './jobs/status-route.ts'
import { createTakeLine } from './jobs/take-line.ts'
import { createDeviceTraffic } from './report/device-traffic.ts'
import { createReportMetrics } from './report/report-metrics.ts'
import { createReportRoutes } from './report/report-route.ts'
import { createReportRouter } from './report/report-router.ts'
import { openSegmentStore } from './segment-store.ts'

const mebibyte = 1024 ** 2
/** Limits for the bodies of reports, as sent, until their response. A device on a slow line sends few at a time. */
const reportBodyLimits = { bytes: 64 * mebibyte, bytesPerHolder: 16 * mebibyte }
const dayMs = 24 * 60 * 60 * 1_000

/**
 * Opens the log, starts its writers unless it is on Kafka, and listens. `failed` resolves with the reason if the process must
 * exit.
 */
export async function startIngest(config: Config) {
  const kafka = kafkaSettings(config)
  // With Kafka, this process does not use QuestDB. The settings are checked all the same.
  const questdb = kafka ? questdbServers(config)[0] : onlyQuestdbServer(config, segmentFilesNeedOneServer)
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
  const presence = createPresence({ pool: pools.internal('presence'), logger })
  const dwells = createDwellAnnouncer({ pool: pools.internal('dwells'), plans, logger })
  const openJobs = createOpenJobs(pools.internal('open-jobs'))
  const access = createDeviceAccess({ db: pools.internal('access'), plans, clock })
  const traffic = createDeviceTraffic({
    requestsPerMinute: config.DEVICE_REQUESTS_PER_MINUTE,
    burst: config.DEVICE_REQUEST_BURST,
  })

  const onStored = ({ reports, dwells: written }: ToldByRows) => {
    presence.add(reports)
    dwells.add(written)
  }
  const { registry } = metrics
  if (kafka) await refuseUnstoredSegments(config.LOG_DIR)
  const store = kafka
    ? // Loaded only if it is used: without Kafka, its client takes no memory.
      (await import('./kafka-store.ts')).openKafkaStore({ settings: kafka, registry, logger })
    : await openSegmentStore({ config, questdb, retentionDays, traffic, registry, onStored })
  const { log, backlog, large, failed } = store

  const state = { failed: false }
  failed.then(() => {
    state.failed = true
  })

  // Loaded only if it is used, as Kafka above.
  const redis = config.REDIS_URL
    ? (await import('#http/rate-limit-store')).openRateLimitStore(config.REDIS_URL)
    : undefined
  const failedAuthentications = createFailedAuthentications(proxyHopsOf(config), redis)
  const bodies = createBodyBudget(unauthenticatedBodies)
  registerBodyMetrics(metrics.registry, 'unauthenticated', bodies)
  const reportBodies = createBodyBudget(reportBodyLimits)
  registerBodyMetrics(metrics.registry, 'reporting', reportBodies)
  const calls = { clock, access, failedAuthentications, traffic }
  const reportRoute = createReportRoutes({
    ...calls,
    backlog,
    log,
    openJobs,
    bodies: reportBodies,
    large,
    metrics: createReportMetrics(metrics),
    retentionMs: retentionDays * dayMs,
    onAccepted: presence.seen,
    logger,
  })
  const checks: ReadinessCheck[] = [
    {
      name: 'telemetry-log',
      async check() {
        const reason = store.whyNotReady()
        if (reason !== undefined) throw new NotReadyError(reason)
        if (state.failed || backlog.isFull()) throw new Error('The log does not accept reports.')
      },
    },
  ]
  const keyring = createKeyring(config.CONFIG_SECRETS_KEY, config.CONFIG_SECRETS_KEY_PREVIOUS)
  const { tracing, stop: stopTracing } = await openTracing('ingest', config.OTEL_EXPORTER_OTLP_ENDPOINT)
  const mailbox = createMailbox(createTakeLine({ pools, clock }))
  registerMailboxMetrics(metrics.registry, mailbox)
  const routes = [
    enrollRoute({ pools, plans, failedAuthentications, bodies }),
    tokenCheckRoute({ access, failedAuthentications }),
    jobStatusRoute({ ...calls, pools, tracing }),
    configRoute({ ...calls, pools, keyring }),
  ]
  const reports = createReportRouter(reportRoute)
  const nextJob = createNextJobRoute({ ...calls, pools, keyring, mailbox, metrics, logger, tracing })
  const app = requestListener(createApp({ logger, metrics, checks, routes }).fetch)
  const server = await startListening(
    (request, response) => {
      const report = request.method === 'POST' ? reports(request.url ?? '') : undefined
      if (report) report(request, response)
      else if (request.method === 'GET' && isAt(nextJobPath, request.url)) nextJob(request, response)
      else app(request, response)
    },
    { host: config.HOST, port: config.PORT, maxConnections: connectionLimit() },
  )
  countRefusedConnections(metrics.registry, server)

  const accessNotices = followAccessNotices(pools.internal('access'), access)
  const listening = listen(config.POSTGRES_URL, [accessNotices, followJobNotices(mailbox, openJobs)])
  const ignore = () => {}
  async function tellPostgres(): Promise<void> {
    const confirm = store.confirmation()
    const written = await Promise.all([presence.flush(), dwells.flush()])
    if (written.every((isWritten) => isWritten)) confirm()
  }
  const repeating = [
    repeat(1_000, tellPostgres, ignore),
    repeat(1_000, openJobs.refresh, ignore),
    repeat(1_000, async () => backlog.measure(), ignore),
  ]

  /** Closes all parts after the last request. Closes the log and updates Postgres. */
  async function close(): Promise<void> {
    await store.close()
    await Promise.all([accessNotices.stop(), listening.stop(), ...repeating.map((repeated) => repeated.stop())])
    await databaseClock.stop()
    await presence.flush()
    await dwells.flush()
    redis?.disconnect()
    await pool.end()
    await stopTracing()
  }
  return { server, logger, checks, failed, beginStop: mailbox.close, close }
}

const isAt = (path: string, url: string | undefined) => url === path || url?.startsWith(`${path}?`)

/** Returns a readiness check that fails while `refuses` returns true. */
export function refuseWhen(name: string, refuses: () => boolean): ReadinessCheck {
  return {
    name,
    check: async () => {
      if (refuses()) throw new Error(`${name} is not ready`)
    },
  }
}
