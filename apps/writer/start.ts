import type { Server } from 'node:http'
import { toError } from '#core/error-text'
import { repeat } from '#core/schedule'
import { preparePrivateFolder } from '#files/private-folder'
import { loadPlans } from '#fleet/organizations/plans'
import { NotReadyError, type ReadinessCheck } from '#http/health'
import { createHttpMetrics } from '#http/metrics'
import { createOperationsServer } from '#http/operations-server'
import type { Logger } from '#http/request-log'
import { openPool } from '#postgres/pool'
import { openKafkaEnds } from '#telemetry-log/kafka/kafka-ends'
import { kafkaFailure } from '#telemetry-log/kafka/kafka-failure'
import { joinKafkaGroup, type KafkaGroup } from '#telemetry-log/kafka/kafka-group'
import { type KafkaSettings, kafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import { ensureTopic } from '#telemetry-log/kafka/kafka-topic'
import { createUntilAvailable } from '#telemetry-writer/store/until-available'
import { startViewUpkeep } from '#telemetry-writer/store/view-upkeep'
import { createPostgresTeller } from '#telemetry-writer/tell-postgres'
import { openWatchedQuestdb, type WatchedQuestdb } from '#telemetry-writer/watched-questdb'
import { folderOf, type WriterConfig, type WrittenCopy } from './config.ts'
import { registerGroupMetrics } from './metrics.ts'
import { createWrittenPartitions, type WrittenPartitions } from './partitions.ts'
import { type CopyProgressKeeper, createCopyProgressKeeper } from './progress.ts'

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
  const { server: copy } = written
  const folder = folderOf(config, written)
  preparePrivateFolder(folder)
  const { registry } = createHttpMetrics()
  if (copy.name !== undefined) registry.setDefaultLabels({ questdb: copy.name })
  const plans = await loadPlans(config.PLANS_FILE)
  const ttlDays = Math.max(...Object.values(plans).map((plan) => plan.historyDays))
  const pool = openPool(config.POSTGRES_URL, { applicationName: 'writer', maxConnections: 3 })
  const teller = createPostgresTeller({ poolOf: () => pool, plans, logger })
  const connections = { applicationName: 'writer', maxConnections: 6 }
  const questdb = openWatchedQuestdb({ server: copy, ttlDays, ...connections, resumes: true, logger })
  const ends = openKafkaEnds(settings)
  const partitions = createWrittenPartitions({
    settings,
    questdb,
    folder,
    isAwaited: teller.isAwaited,
    onTold(partition, told, position) {
      // A copy that lags must not bring back an older state.
      if (progress && position <= progress.toldBefore(partition)) return
      teller.add(told)
    },
    logger,
  })
  // The only server has no progress to compare with that of others.
  const progress =
    copy.name === undefined
      ? undefined
      : createCopyProgressKeeper({ copy: copy.name, pool, ends, partitions: partitions.all })
  const membership = joinGroup({ config, settings, written, partitions, questdb, progress, logger })
  const { isMember } = membership
  registerGroupMetrics(registry, { partitions, isMember, suspendedTables: questdb.watch.suspendedTables })

  async function tellPostgres(): Promise<void> {
    const confirm = partitions.confirmation()
    if (await teller.flush()) confirm()
  }
  async function noteEnds(): Promise<void> {
    const endOf = await ends.read()
    for (const { partition, noteEnd } of partitions.all()) noteEnd(endOf.get(partition) ?? 0)
  }
  const ignore = () => {}
  const repeating = [
    repeat(tellEveryMs, tellPostgres, ignore),
    repeat(tellEveryMs, teller.refresh, ignore),
    repeat(watchEveryMs, partitions.follow, ignore),
    startViewUpkeep(questdb.sql, logger),
    repeat(progressEveryMs, progress?.keep ?? noteEnds, ignore),
  ]
  const checks: ReadinessCheck[] = [
    { name: 'kafka', check: membership.check },
    { name: 'questdb', check: async () => refuseUnless(Date.now() - questdb.watch.lookedAtMs() < silentMs) },
    { name: 'postgres', check: async () => void (await pool.query('SELECT 1')) },
  ]
  return {
    server: createOperationsServer({ registry, isStopping, checks }),
    failed: membership.failed,
    async stop() {
      await membership.leave()
      await Promise.all(repeating.map((repeated) => repeated.stop()))
      await tellPostgres()
      await Promise.all([questdb.close(), ends.close()])
      await pool.end()
    },
  }
}

type Membership = {
  isMember(): boolean
  /** The readiness check. Rejects with the reason of the brokers while this process is not a member. */
  check(): Promise<void>
  /** Resolves when joining or a partition has failed for a reason that does not pass. */
  failed: Promise<Error>
  /** Stops the partitions and leaves the group. */
  leave(): Promise<void>
}

/** Waits for the brokers and the databases and then joins the group, so that this process is live meanwhile. */
function joinGroup(parts: {
  config: WriterConfig
  settings: KafkaSettings
  written: WrittenCopy
  partitions: WrittenPartitions
  questdb: WatchedQuestdb
  progress: CopyProgressKeeper | undefined
  logger: Logger
}): Membership {
  const { config, settings, written, partitions, questdb, progress, logger } = parts
  const ending = new AbortController()
  const untilAvailable = createUntilAvailable(ending.signal, (detail) => logger.warn({ detail }, 'start_waits'))
  const failed = Promise.withResolvers<Error>()
  let group: KafkaGroup | undefined
  let reason = 'The writer has not joined its consumer group yet.'
  function describe(error: unknown): Error {
    const failure = kafkaFailure(error)
    reason = failure.reason
    return new Error(failure.detail, { cause: error })
  }

  async function join(): Promise<void> {
    const count = await untilAvailable(() =>
      ensureTopic(settings).catch((error: unknown) => {
        throw describe(error)
      }),
    )
    if (progress) await untilAvailable(() => progress.prepare(count))
    await untilAvailable(questdb.repairSchema)
    const joined = joinKafkaGroup({
      settings,
      groupId: written.groupId,
      memberName: config.KAFKA_MEMBER_NAME,
      onAssigned: (gained) => partitions.start(gained, joined, failed.resolve),
      onRevoked: partitions.stop,
      onError: (error) => logger.warn({ detail: describe(error).message }, 'group_lost'),
    })
    group = joined
  }
  const joining = join().catch((error: unknown) => {
    if (!ending.signal.aborted) failed.resolve(toError(error))
  })
  const isMember = () => group?.isMember() ?? false
  return {
    isMember,
    async check() {
      if (!isMember()) throw new NotReadyError(reason)
    },
    failed: failed.promise,
    async leave() {
      ending.abort()
      await joining
      await group?.leave()
    },
  }
}

function refuseUnless(isReady: boolean): void {
  if (!isReady) throw new Error('not ready')
}
