import { availableParallelism } from 'node:os'
import { systemClock } from '#core/clock'
import { repeat } from '#core/schedule'
import { nextJobPath, reportPath } from '#device-edge/contract'
import { createKeyring } from '#fleet/crypto/keyring'
import { loadPlans } from '#fleet/organizations/plans'
import { createBodyBudget, registerBodyMetrics } from '#http/body-budget'
import { connectionLimit, countRefusedConnections } from '#http/connection-limit'
import type { ReadinessCheck } from '#http/health'
import { createHttpMetrics } from '#http/metrics'
import { createLogger } from '#http/request-log'
import { requestListener, startListening } from '#http/server'
import { listen } from '#postgres/listen'
import { openPool } from '#postgres/pool'
import { logBudget } from '#telemetry-log/log-budget'
import { openPartitionedLog } from '#telemetry-log/partitioned-log'
import type { ToldByRows } from '#telemetry-writer/device-reports'
import { createDwellAnnouncer } from '#telemetry-writer/dwell-announcer'
import { createPresence } from '#telemetry-writer/presence'
import { followAccessNotices } from './access/access-notices.ts'
import { createDeviceAccess } from './access/device-access.ts'
import { enrollRoute, unauthenticatedBodies } from './access/enroll.ts'
import { createFailedAuthentications } from './access/failed-authentications.ts'
import { tokenCheckRoute } from './access/token-check.ts'
import { createApp } from './app.ts'
import { type Config, proxyHopsOf } from './config.ts'
import { configRoute } from './jobs/device-config.ts'
import { followJobNotices } from './jobs/follow-notices.ts'
import { createMailbox } from './jobs/mailbox.ts'
import { registerMailboxMetrics } from './jobs/metrics.ts'
import { createNextJobRoute } from './jobs/next-route.ts'
import { createOpenJobs } from './jobs/open-jobs.ts'
import { jobStatusRoute } from './jobs/status-route.ts'
import { createBacklog } from './report/backlog.ts'
import { createDeviceTraffic } from './report/device-traffic.ts'
import { openLargeReports } from './report/large-reports.ts'
import { createReportMetrics } from './report/report-metrics.ts'
import { createReportRoute } from './report/report-route.ts'
import { registerSampleMetrics } from './report/sample-metrics.ts'
import { startWriters, type WrittenPartition } from './writer/writers.ts'

const mebibyte = 1024 ** 2
/** Limits for the bodies of reports, as sent, until their response. A device on a slow line sends few at a time. */
const reportBodyLimits = { bytes: 64 * mebibyte, bytesPerHolder: 16 * mebibyte }
const dayMs = 24 * 60 * 60 * 1_000

/** Opens the log, starts its writers and listens. `failed` resolves with the reason if the process must exit. */
export async function startIngest(config: Config) {
  const logger = createLogger('ingest', config.LOG_LEVEL)
  const metrics = createHttpMetrics()
  const plans = await loadPlans(config.PLANS_FILE)
  const retentionDays = Math.max(...Object.values(plans).map((plan) => plan.historyDays))
  const pool = openPool(config.POSTGRES_URL, {
    applicationName: 'ingest',
    maxConnections: config.POSTGRES_MAX_CONNECTIONS,
  })
  const presence = createPresence({ pool, logger })
  const dwells = createDwellAnnouncer({ pool, plans, logger })
  const openJobs = createOpenJobs(pool)
  const access = createDeviceAccess({ db: pool, clock: systemClock })
  const traffic = createDeviceTraffic({
    requestsPerMinute: config.DEVICE_REQUESTS_PER_MINUTE,
    burst: config.DEVICE_REQUEST_BURST,
  })

  const { budgetBytes, maxSegmentBytes, earlyDeletionBytes } = logBudget(config.LOG_DIR, config.LOG_BUDGET_BYTES)
  const log = await openPartitionedLog({
    folder: config.LOG_DIR,
    partitions: config.LOG_PARTITIONS,
    partitionsIfNew: partitionsOfNewLog(),
    maxSegmentBytes,
  })
  const onStored = ({ reports, dwells: written }: ToldByRows) => {
    presence.add(reports)
    dwells.add(written)
  }
  let failChecks: (error: Error) => void = () => {}
  const checksFailed = new Promise<Error>((resolve) => {
    failChecks = resolve
  })
  const large = openLargeReports(log.partitions, failChecks)
  const decoding = large.writerPorts
  const writers = startWriters({ config, retentionDays, log, earlyDeletionBytes, decoding, onStored })
  const sumOf = (read: (partition: WrittenPartition) => number) =>
    writers.partitions.reduce((sum, partition) => sum + read(partition), 0)
  const backlog = createBacklog({
    folder: config.LOG_DIR,
    budgetBytes,
    traffic,
    tailPosition: () => sumOf((partition) => partition.log.tail().position),
    storedPosition: () => sumOf((partition) => partition.writer.progress().position),
    isQueueFull: (deviceId) => {
      const partitions = deviceId === undefined ? log.all : [log.partitionOf(deviceId)]
      return partitions.some((partition) => partition.log.queue().isFull)
    },
  })
  registerSampleMetrics(metrics.registry, { lease: log.lease, writers, backlog })

  const state = { failed: false }
  const failed = Promise.race([log.failed, writers.failed, checksFailed])
  failed.then(() => {
    state.failed = true
  })

  const failedAuthentications = createFailedAuthentications(proxyHopsOf(config))
  const bodies = createBodyBudget(unauthenticatedBodies)
  registerBodyMetrics(metrics.registry, 'unauthenticated', bodies)
  const reportBodies = createBodyBudget(reportBodyLimits)
  registerBodyMetrics(metrics.registry, 'reporting', reportBodies)
  const calls = { clock: systemClock, access, failedAuthentications, traffic }
  const report = createReportRoute({
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
  const checks = [refuseWhen('telemetry-log', () => state.failed || backlog.isFull())]
  const keyring = createKeyring(config.CONFIG_SECRETS_KEY, config.CONFIG_SECRETS_KEY_PREVIOUS)
  const mailbox = createMailbox({ pool, clock: systemClock })
  registerMailboxMetrics(metrics.registry, mailbox)
  const routes = [
    enrollRoute({ pool, plans, failedAuthentications, bodies }),
    tokenCheckRoute({ access, failedAuthentications }),
    jobStatusRoute({ ...calls, pool }),
    configRoute({ ...calls, pool, keyring }),
  ]
  const nextJob = createNextJobRoute({ ...calls, pool, keyring, mailbox, metrics, logger })
  const app = requestListener(createApp({ logger, metrics, checks, routes }).fetch)
  const server = await startListening(
    (request, response) => {
      if (request.method === 'POST' && isAt(reportPath, request.url)) report(request, response)
      else if (request.method === 'GET' && isAt(nextJobPath, request.url)) nextJob(request, response)
      else app(request, response)
    },
    { host: config.HOST, port: config.PORT, maxConnections: connectionLimit() },
  )
  countRefusedConnections(metrics.registry, server)

  const accessNotices = followAccessNotices(pool, access)
  const listening = listen(config.POSTGRES_URL, [accessNotices, followJobNotices(mailbox)])
  const ignore = () => {}
  async function tellPostgres(): Promise<void> {
    const confirm = writers.confirmation()
    const written = await Promise.all([presence.flush(), dwells.flush()])
    if (written.every((isWritten) => isWritten)) confirm()
  }
  const repeating = [
    repeat(1_000, tellPostgres, ignore),
    repeat(1_000, openJobs.refresh, ignore),
    repeat(1_000, async () => backlog.measure(), ignore),
  ]

  /** Closes all parts after the last request. Syncs the log, stops the writers and updates Postgres. */
  async function close(): Promise<void> {
    await log.drain()
    await writers.stop()
    await large.close()
    await log.close()
    await Promise.all([accessNotices.stop(), listening.stop(), ...repeating.map((repeated) => repeated.stop())])
    await presence.flush()
    await dwells.flush()
    await pool.end()
  }
  return { server, logger, checks, failed, beginStop: mailbox.close, close }
}

/** Half of the cores: the other half accepts reports and runs QuestDB. */
const partitionsOfNewLog = (): number => Math.min(8, Math.max(1, Math.floor(availableParallelism() / 2)))

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
