import { locks, parentPort, workerData } from 'node:worker_threads'
import { errorText } from '#core/error-text'
import { repeat } from '#core/schedule'
import { Secret } from '#core/secret'
import { createLogger } from '#http/request-log'
import { isLeaseHeld } from '#telemetry-log/lock/lease'
import { openSegmentCheckpoints } from '#telemetry-log/segments/segment-checkpoints'
import { openSegmentReader } from '#telemetry-log/segments/segment-reader'
import { openSharedTail } from '#telemetry-log/segments/shared-tail'
import { openPartition, type PartitionTools } from '#telemetry-writer/open-partition'
import { openStateFile } from '#telemetry-writer/states/state-file'
import { openCheckpoints } from '#telemetry-writer/store/checkpoints'
import { startViewUpkeep } from '#telemetry-writer/store/view-upkeep'
import { openWatchedQuestdb } from '#telemetry-writer/watched-questdb'
import { createDecodeReport } from './decode-elsewhere.ts'
import type { FromWriter, ToWriter, WriterSettings } from './messages.ts'

const stopLimitMs = 3_000
const followEveryMs = 2_000
const settings = workerData as WriterSettings
const { place, lease } = settings
const { folder, logFolder, partition } = place
const logger = createLogger('ingest', settings.logLevel).child({ part: 'writer', partition })
/** The first writer of the process resumes tables and maintains views. */
const isFirst = partition === 0
const opened = openWatchedQuestdb({
  server: { ...settings.questdb, password: new Secret(settings.questdb.password) },
  ttlDays: settings.retentionDays,
  applicationName: 'ingest-writer',
  maxConnections: 4,
  resumes: isFirst,
  logger,
})

const schemaApplied = new Int32Array(settings.schemaMemory)
/** Applies the schema, one writer at a time, because a view may be dropped and created again. */
const changeSchema = (isNeeded: () => boolean) =>
  locks.request('questdb-schema', async () => {
    if (!isNeeded()) return
    await opened.repairSchema()
    Atomics.store(schemaApplied, 0, 1)
  })
const questdb = { ...opened, repairSchema: () => changeSchema(() => true) }

const mayWrite = () => isLeaseHeld(lease)

async function openLog({ onDamage }: PartitionTools) {
  const tail = openSharedTail(settings.tailMemory)
  const { earlyDeletionBytes } = settings
  const store = openSegmentCheckpoints({ folder, logFolder, tailPosition: tail.position(), earlyDeletionBytes })
  return {
    tail,
    checkpoints: openCheckpoints({ store, mayWrite }),
    openReaders: (from: number, earlierFrom: number) => ({
      reader: openSegmentReader({ folder, deadLetters: place, from, onDamage }),
      ahead: openSegmentReader({ folder, from }),
      earlier: openSegmentReader({ folder, from: earlierFrom }),
    }),
    openStates: (reference: Parameters<typeof openStateFile>[0]['reference']) =>
      openStateFile({
        folder,
        reference,
        mayWrite,
        onGivenUp: (error) => logger.warn({ detail: errorText(error) }, 'states_not_kept'),
      }),
  }
}

const tell = (message: FromWriter) => parentPort?.postMessage(message)
function tellProgress(): void {
  const figures = writer.figures()
  if (figures) tell({ kind: 'progress', progress: { ...figures, suspendedTables: questdb.watch.suspendedTables() } })
}

let awaited: ReadonlySet<string> = new Set()
const writer = openPartition({
  place,
  questdb,
  logger,
  openLog,
  // The first writer of the process applies the schema, and the others wait for it.
  prepare: () => changeSchema(() => Atomics.load(schemaApplied, 0) === 0),
  decode: createDecodeReport(settings.decoding),
  isAwaited: (organizationId) => awaited.has(organizationId),
  onStored: (told, number) => tell({ kind: 'stored', told, number }),
  onBatch: tellProgress,
})

const following = repeat(
  followEveryMs,
  async () => {
    await questdb.watch.look()
    writer.follow(questdb.watch.takeRestart())
    tellProgress()
  },
  tellProgress,
)
const viewUpkeep = isFirst ? startViewUpkeep(questdb.sql, logger) : undefined

const stopped = new Promise<void>((resolve, reject) => {
  parentPort?.on('message', (message: ToWriter) => {
    if (message.kind === 'confirm') writer.confirm(message.number)
    else if (message.kind === 'await') awaited = new Set(message.organizations)
    else resolve(writer.stop(stopLimitMs))
  })
  writer.running.catch(reject)
})
await stopped
await following.stop()
settings.decoding.close()
await viewUpkeep?.stop()
await questdb.close()
tell({ kind: 'stopped' })
parentPort?.close()
