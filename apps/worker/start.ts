import type { Server } from 'node:http'
import { Gauge } from 'prom-client'
import { systemClock } from '#core/clock'
import { createKeyring } from '#fleet/crypto/keyring'
import { workChannel } from '#fleet/jobs/write'
import { createWebhookRounds } from '#fleet/webhooks/rounds'
import { createWebhookSender } from '#fleet/webhooks/sender'
import { createHttpMetrics } from '#http/metrics'
import { type Logger, logFailure } from '#http/request-log'
import { untilAnswering } from '#postgres/availability'
import { listen } from '#postgres/listen'
import { openPool } from '#postgres/pool'
import { eraseTelemetry } from '#questdb/erasure'
import { openQuestdbSql, questdbSqlUrl } from '#questdb/sql'
import { openQueueBackend } from '#queue/backend'
import { openJobQueues } from '#queue/job-queues'
import type { WorkerConfig } from './config.ts'
import { startPeriodicTasks } from './periodic.ts'
import { queueTable } from './queue-table.ts'
import { startQueueWorkers } from './queue-workers.ts'
import { startRelay } from './relay.ts'
import { createOperationsServer } from './server.ts'
import { periodicTasks } from './tasks.ts'

export type RunningWorker = { server: Server; stop(): Promise<void> }

/**
 * Starts everything the worker is made of, as soon as Postgres answers; `isStopping` makes it unready. The server is
 * made, not yet listening. Rejects when Postgres goes away meanwhile: the process is to end and be started again.
 */
export async function startWorker(
  config: WorkerConfig,
  logger: Logger,
  isStopping: () => boolean,
): Promise<RunningWorker> {
  const clock = systemClock
  const { registry } = createHttpMetrics()
  const pool = openPool(config.POSTGRES_URL, { applicationName: 'worker', maxConnections: 12 })
  const failed = (part: string) => (error: unknown) => logFailure(logger, part, error)

  await untilAnswering(config.POSTGRES_URL)
  const backend = openQueueBackend({ postgresUrl: config.POSTGRES_URL, redisUrl: config.REDIS_URL }, failed('queues'))
  const queues = await openJobQueues(backend)
  const table = queueTable({ pool, clock, concurrency: config.DISPATCH_CONCURRENCY })
  const workers = await startQueueWorkers({
    backend,
    table,
    registry,
    onError: (queue, error) => failed(queue)(error),
  })
  const relay = startRelay({ pool, clock, queues, cap: config.DISPATCH_QUEUE_CAP, onError: failed('relay') })
  const questdb = openQuestdbSql(questdbSqlUrl(config), { applicationName: 'worker', maxConnections: 1 })
  const keyring = createKeyring(config.CONFIG_SECRETS_KEY, config.CONFIG_SECRETS_KEY_PREVIOUS)
  const sender = createWebhookSender()
  const webhooks = createWebhookRounds({ pool, clock, keyring, sender }, failed('webhooks'))
  const tasks = startPeriodicTasks({
    tasks: periodicTasks({
      pool,
      clock,
      backend,
      webhooks,
      erasure: { pool, clock, eraseTelemetry: (deviceIds) => eraseTelemetry(questdb, deviceIds) },
      erasureHourUtc: config.ERASURE_HOUR_UTC,
    }),
    registry,
    onError: (task, error) => failed(task)(error),
  })
  const listening = listen(config.POSTGRES_URL, [{ channel: workChannel, onNotice: relay.wake, onGap: relay.wake }])

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
  const server = createOperationsServer({
    registry,
    isStopping,
    // Not the queues: while Redis is away jobs still expire, and what is offered meanwhile waits in Postgres.
    checks: [{ name: 'postgres', check: async () => void (await pool.query('SELECT 1')) }],
  })
  return {
    server,
    async stop() {
      await listening.stop()
      await Promise.all([relay.stop(), tasks.stop(), workers.stop()])
      await webhooks.settle()
      await queues.close()
      await backend.close()
      await sender.close()
      await questdb.end()
      await pool.end()
    },
  }
}
