import type { Server } from 'node:http'
import { repeat } from '#core/schedule'
import { preparePrivateFolder } from '#files/private-folder'
import { loadPlans } from '#fleet/organizations/plans'
import { NotReadyError } from '#http/health'
import { createHttpMetrics } from '#http/metrics'
import { createOperationsServer } from '#http/operations-server'
import type { Logger } from '#http/request-log'
import { openPool } from '#postgres/pool'
import { openKafkaEnds } from '#telemetry-log/kafka/kafka-ends'
import { kafkaFailure } from '#telemetry-log/kafka/kafka-failure'
import { joinKafkaGroup, type KafkaGroup } from '#telemetry-log/kafka/kafka-group'
import { type KafkaSettings, kafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import { ensureTopic } from '#telemetry-log/kafka/kafka-topic'
import { createDwellAnnouncer } from '#telemetry-writer/reports/dwell-announcer'
import { createPresence } from '#telemetry-writer/states/presence'
import { createUntilAvailable } from '#telemetry-writer/store/until-available'
import { startViewUpkeep } from '#telemetry-writer/store/view-upkeep'
import { folderOf, type WriterConfig, type WrittenCopy } from './config.ts'
import { registerWriterMetrics } from './metrics.ts'
import { startPartition, type WrittenPartition } from './partition.ts'
import { createCopyProgressKeeper } from './progress.ts'
import { openQuestdb } from './questdb.ts'

type RunningWriter = {
  server: Server
  /** Resolves when the process must exit. */
  failed: Promise<Error>
  stop(): Promise<void>
}

const watchEveryMs = 2_000
const tellEveryMs = 1_000
const progressEveryMs = 1_000
/** Without an answer of QuestDB for this time, the writer is not ready. */
const silentMs = 10_000

/** Joins the consumer group and stores the partitions that it assigns. The returned server does not listen yet. */
export async function startWriter(
  config: WriterConfig,
  written: WrittenCopy,
  logger: Logger,
  isStopping: () => boolean,
): Promise<RunningWriter> {
  const settings = kafkaSettings(config)
  if (!settings) throw new Error('The writer needs KAFKA_BROKERS.')
  const { server: copy, groupId } = written
  const folder = folderOf(config, written)
  preparePrivateFolder(folder)
  const { registry } = createHttpMetrics()
  if (copy.name !== undefined) registry.setDefaultLabels({ questdb: copy.name })
  const plans = await loadPlans(config.PLANS_FILE)
  const ttlDays = Math.max(...Object.values(plans).map((plan) => plan.historyDays))
  const pool = openPool(config.POSTGRES_URL, { applicationName: 'writer', maxConnections: 3 })
  const presence = createPresence({ pool, logger })
  const dwells = createDwellAnnouncer({ pool, plans, logger })
  const questdb = openQuestdb(copy, ttlDays, logger)
  const ending = new AbortController()
  const untilAvailable = createUntilAvailable(ending.signal, (detail) => logger.warn({ detail }, 'start_waits'))
  const partitions = new Map<number, WrittenPartition>()
  const ends = openKafkaEnds(settings)
  // The only server has no progress to compare with that of others.
  const progress =
    copy.name === undefined
      ? undefined
      : createCopyProgressKeeper({ copy: copy.name, pool, ends, partitions: () => [...partitions.values()] })
  let group: KafkaGroup | undefined
  let kafkaReason = 'The writer has not joined its consumer group yet.'
  function describe(error: unknown): Error {
    const { detail, reason } = kafkaFailure(error)
    kafkaReason = reason
    return new Error(detail, { cause: error })
  }
  let fail: (error: Error) => void = () => {}
  const failed = new Promise<Error>((resolve) => {
    fail = resolve
  })

  /** Waits for the brokers and the databases, so that this process is live meanwhile. */
  async function join(settings: KafkaSettings): Promise<void> {
    const count = await untilAvailable(() =>
      ensureTopic(settings).catch((error: unknown) => {
        throw describe(error)
      }),
    )
    if (progress) await untilAvailable(() => progress.prepare(count))
    await untilAvailable(questdb.repairSchema)
    const joined = joinKafkaGroup({
      settings,
      groupId,
      memberName: config.KAFKA_MEMBER_NAME,
      onAssigned(gained) {
        logger.info({ partitions: gained }, 'partitions_assigned')
        for (const partition of gained) {
          const written = startPartition({
            partition,
            settings,
            group: joined,
            questdb,
            folder,
            onTold({ reports, dwells: stored }, position) {
              // A copy that lags must not bring back an older state.
              if (progress && position <= progress.toldBefore(partition)) return
              presence.add(reports)
              dwells.add(stored)
            },
            onFailure: fail,
            logger,
          })
          partitions.set(partition, written)
        }
      },
      async onRevoked(lost) {
        await Promise.all(lost.map((partition) => partitions.get(partition)?.stop()))
        for (const partition of lost) partitions.delete(partition)
        logger.info({ partitions: lost }, 'partitions_revoked')
      },
      onError: (error) => logger.warn({ detail: describe(error).message }, 'group_lost'),
    })
    group = joined
  }
  const joining = join(settings).catch((error: unknown) => {
    if (!ending.signal.aborted) fail(error instanceof Error ? error : new Error(String(error)))
  })
  const isMember = () => group?.isMember() ?? false
  registerWriterMetrics(registry, { partitions: () => [...partitions.values()], isMember, questdb })

  async function tellPostgres(): Promise<void> {
    const confirmations = [...partitions.values()].map(({ confirmation }) => confirmation())
    const written = await Promise.all([presence.flush(), dwells.flush()])
    if (written.every((isWritten) => isWritten)) for (const confirm of confirmations) confirm()
  }
  async function watch(): Promise<void> {
    await questdb.watch.look()
    const isRestarted = questdb.watch.takeRestart()
    for (const partition of partitions.values()) {
      if (isRestarted) partition.databaseRestarted()
      else partition.keep()
    }
  }
  const ignore = () => {}
  const repeating = [
    repeat(tellEveryMs, tellPostgres, ignore),
    repeat(watchEveryMs, watch, ignore),
    startViewUpkeep(questdb.sql, logger),
    ...(progress ? [repeat(progressEveryMs, progress.keep, ignore)] : []),
  ]

  const server = createOperationsServer({
    registry,
    isStopping,
    checks: [
      {
        name: 'kafka',
        async check() {
          if (!isMember()) throw new NotReadyError(kafkaReason)
        },
      },
      { name: 'questdb', check: async () => refuseUnless(Date.now() - questdb.watch.lookedAtMs() < silentMs) },
      { name: 'postgres', check: async () => void (await pool.query('SELECT 1')) },
    ],
  })
  return {
    server,
    failed,
    async stop() {
      ending.abort()
      await joining
      await group?.leave()
      await Promise.all(repeating.map((repeated) => repeated.stop()))
      await tellPostgres()
      await Promise.all([questdb.close(), ends.close()])
      await pool.end()
    },
  }
}

function refuseUnless(isReady: boolean): void {
  if (!isReady) throw new Error('not ready')
}
