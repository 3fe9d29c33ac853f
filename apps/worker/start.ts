import type { Server } from 'node:http'
import { Gauge, type Registry } from 'prom-client'
import { reachableAddresses } from '#core/public-address'
import type { SystemContext } from '#fleet/context'
import { createKeyring } from '#fleet/crypto/keyring'
import { workChannel } from '#fleet/jobs/notices'
import { loadPlans } from '#fleet/organizations/plans'
import { createGuardedPost } from '#fleet/webhooks/guarded-post'
import { createWebhookRounds } from '#fleet/webhooks/rounds'
import { createWebhookSender } from '#fleet/webhooks/sender'
import { createTowns } from '#fleet-map/towns/towns'
import { createHttpMetrics } from '#http/metrics'
import { openTracing } from '#http/open-tracing'
import { createOperationsServer } from '#http/operations-server'
import { type Logger, logFailure } from '#http/request-log'
import { createMailer, type Mailer } from '#messages/mailer'
import { waitUntilAvailable } from '#postgres/availability'
import { followDatabaseClock } from '#postgres/clock'
import { listen } from '#postgres/listen'
import { openPool } from '#postgres/pool'
import { questdbSqlUrls } from '#questdb/server/servers'
import { openQuestdbSql } from '#questdb/server/sql'
import { eraseFromCopies } from '#questdb/writer/erasure'
import { openQueueBackend } from '#queue/backend'
import { openJobQueues } from '#queue/job-queues'
import { compareInThread } from './comparisons.ts'
import type { WorkerConfig } from './config.ts'
import { countTurnFailures, startPeriodicTasks } from './periodic.ts'
import { queueTable } from './queue-table.ts'
import { startQueueWorkers } from './queue-workers.ts'
import { startRelay } from './relay.ts'
import { periodicTasks } from './tasks.ts'

type RunningWorker = { server: Server; stop(): Promise<void> }

/**
 * Waits for Postgres, then starts all parts of the worker. `isStopping` makes it unready. The returned server does not
 * listen yet. Rejects when Postgres becomes unavailable during the start; the process must then be restarted.
 */
export async function startWorker(
  config: WorkerConfig,
  logger: Logger,
  isStopping: () => boolean,
): Promise<RunningWorker> {
  const { registry } = createHttpMetrics()
  const mailer = openMailer(config)
  const plans = await loadPlans(config.PLANS_FILE)
  const pool = openPool(config.POSTGRES_URL, { applicationName: 'worker', maxConnections: 12 })
  const failed = (part: string) => (error: unknown, organizationId?: string) =>
    logFailure(logger, part, error, organizationId)

  await waitUntilAvailable(config.POSTGRES_URL)
  const databaseClock = followDatabaseClock(pool)
  await databaseClock.measured
  const { clock } = databaseClock
  const { tracing, stop: stopTracing } = await openTracing('worker', config.OTEL_EXPORTER_OTLP_ENDPOINT)
  const system = { pool, clock, tracing }
  const turnFailures = countTurnFailures(registry, (task, error, organizationId) => failed(task)(error, organizationId))
  const jobQueues = await startJobQueues(config, { system, registry, logger, failed, turnFailures })
  const { backend, relay } = jobQueues
  const questdbUrls = questdbSqlUrls(config)
  const copies = questdbUrls.map((url) => openQuestdbSql(url, { applicationName: 'worker', maxConnections: 2 }))
  const keyring = createKeyring(config.CONFIG_SECRETS_KEY, config.CONFIG_SECRETS_KEY_PREVIOUS)
  const reachable = reachableAddresses(config.WEBHOOK_PRIVATE_NETWORKS)
  const sender = createWebhookSender({ reachable })
  const chatSender = createGuardedPost({ reachable })
  const webhooks = createWebhookRounds({ pool, clock, keyring, sender }, turnFailures('deliver_webhooks'))
  const comparisonFailed = turnFailures('compare_radios')
  const comparisons = new AbortController()
  const towns = createTowns((error) => logger.error({ err: error }, 'towns_unreadable'))
  const tasks = startPeriodicTasks({
    tasks: periodicTasks({
      system,
      backend,
      webhooks,
      alerts: { pool, plans, clock, towns },
      copies,
      mail: mailer && { pool, plans, clock, mailer },
      chat: { pool, keyring, clock, sender: chatSender },
      erasure: { pool, clock, eraseTelemetry: (deviceIds) => eraseFromCopies(copies, deviceIds) },
      erasureHourUtc: config.ERASURE_HOUR_UTC,
      compareRadios: () =>
        compareInThread({
          system: { ...system, plans },
          copies,
          addresses: { postgresUrl: config.POSTGRES_URL, questdbUrls },
          onTurnFailed: comparisonFailed,
          signal: comparisons.signal,
        }),
    }),
    registry,
    onError: (task, error) => failed(task)(error),
    turnFailures,
  })
  const listening = listen(config.POSTGRES_URL, [{ channel: workChannel, onNotice: relay.wake, onGap: relay.wake }])

  const server = createOperationsServer({
    registry,
    isStopping,
    // Without the queues: while Redis is unavailable, jobs still expire and wait in Postgres to be offered.
    checks: [{ name: 'postgres', check: async () => void (await pool.query('SELECT 1')) }],
  })
  return {
    server,
    async stop() {
      comparisons.abort()
      await Promise.all([listening.stop(), databaseClock.stop()])
      await Promise.all([relay.stop(), tasks.stop(), jobQueues.workers.stop()])
      await webhooks.settle()
      await jobQueues.close()
      await Promise.all([sender.close(), chatSender.close()])
      mailer?.close()
      await Promise.all(copies.map((copy) => copy.end()))
      await pool.end()
      await stopTracing()
    },
  }
}

type QueueParts = {
  system: SystemContext
  registry: Registry
  logger: Logger
  failed: (part: string) => (error: unknown) => void
  turnFailures: ReturnType<typeof countTurnFailures>
}

/** Opens the queues and starts their workers, and the relay that fills them. `close`: after the workers have stopped. */
async function startJobQueues(config: WorkerConfig, { system, registry, logger, failed, turnFailures }: QueueParts) {
  const backend = openQueueBackend({ postgresUrl: config.POSTGRES_URL, redisUrl: config.REDIS_URL }, failed('queues'))
  const queues = await openJobQueues(backend)
  const workers = await startQueueWorkers({
    backend,
    table: queueTable(system, { concurrency: config.DISPATCH_CONCURRENCY }),
    waiting: queues.waiting,
    registry,
    tracing: system.tracing,
    onError: (queue, error) => failed(queue)(error),
    onReplaced: (queue) => logger.warn({ queue }, 'queue_worker_replaced'),
  })
  const relay = startRelay({
    system,
    queues,
    cap: config.DISPATCH_QUEUE_CAP,
    onError: failed('relay'),
    turnFailed: turnFailures('relay'),
  })
  new Gauge({
    name: 'queue_entries',
    help: 'Entries in the queues, by state.',
    labelNames: ['queue', 'state'],
    registers: [registry],
    async collect() {
      const depths = await queues.depths().catch(() => [])
      for (const { queue, state, count } of depths) this.set({ queue, state }, count)
    },
  })
  const close = async () => {
    await queues.close()
    await backend.close()
  }
  return { backend, workers, relay, close }
}

/** Undefined without `SMTP_URL`. Throws an error with one sentence if only one of the two variables is set. */
function openMailer({ SMTP_URL: smtpUrl, MAIL_FROM: from }: WorkerConfig): Mailer | undefined {
  if (smtpUrl === undefined && from === undefined) return undefined
  if (smtpUrl === undefined || from === undefined) {
    throw new Error('Invalid configuration. SMTP_URL: set it together with MAIL_FROM')
  }
  return createMailer({ smtpUrl, from })
}
