import { setTimeout as delay } from 'node:timers/promises'
import { locks, parentPort, workerData } from 'node:worker_threads'
import { repeat } from '#core/schedule'
import { Secret } from '#core/secret'
import { createLogger } from '#http/request-log'
import { applySchema } from '#questdb/schema/schema'
import { openIlpTransport } from '#questdb/server/ilp-transport'
import { openQuestdbSql } from '#questdb/server/sql'
import { deadReportOf } from '#telemetry-log/dead-letters/dead-letters'
import { isLeaseHeld } from '#telemetry-log/lock/lease'
import type { LogPosition } from '#telemetry-log/log'
import { openSegmentCheckpoints } from '#telemetry-log/segments/segment-checkpoints'
import { openSegmentReader } from '#telemetry-log/segments/segment-reader'
import { openSharedTail } from '#telemetry-log/segments/shared-tail'
import { createDeadLetterKeeper } from '#telemetry-writer/dead-letters/dead-letter-keeper'
import { createPartitionWriter } from '#telemetry-writer/partition-writer'
import { createCleaningCounts } from '#telemetry-writer/reports/cleaning-counts'
import type { OnFailure } from '#telemetry-writer/reports/failing-reports'
import { openStateFile } from '#telemetry-writer/states/state-file'
import { openCheckpoints } from '#telemetry-writer/store/checkpoints'
import { createPatientSql } from '#telemetry-writer/store/patient-sql'
import { createSentRows } from '#telemetry-writer/store/sent-rows'
import { createRowStore } from '#telemetry-writer/store/store-rows'
import { createUntilAvailable } from '#telemetry-writer/store/until-available'
import { startViewUpkeep } from '#telemetry-writer/store/view-upkeep'
import { createWatch } from '#telemetry-writer/watch'
import { createDecodeReport } from './decode-elsewhere.ts'
import type { FromWriter, ToWriter, WriterSettings } from './messages.ts'

const stopLimitMs = 3_000
const settings = workerData as WriterSettings
const { place, questdb, retentionDays } = settings
const { folder, logFolder, partition } = place
const logger = createLogger('ingest', settings.logLevel).child({ part: 'writer', partition })
const tail = openSharedTail(settings.tailMemory)
const sql = openQuestdbSql(questdb.pgUrl, { applicationName: 'ingest-writer', maxConnections: 4 })
const { url, user } = questdb
const transport = openIlpTransport({ url, user, password: new Secret(questdb.password) })
const { earlyDeletionBytes } = settings
const checkpoints = openCheckpoints({
  store: openSegmentCheckpoints({ folder, logFolder, tailPosition: tail.position(), earlyDeletionBytes }),
  mayWrite: () => isLeaseHeld(settings.lease),
})
const cleaning = createCleaningCounts()
const sent = createSentRows()
const decode = createDecodeReport(settings.decoding)
/** The first writer of the process resumes tables and maintains views. */
const isFirst = partition === 0
const watch = createWatch({
  questdb: sql,
  storedPosition: () => checkpoints.current().position,
  resumes: isFirst,
  logger,
})
const ending = new AbortController()
const figures = { retries: 0, damages: 0, replays: 0, statesRestored: 0 }
let stopping = false

const detailOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
const tell = (message: FromWriter) => parentPort?.postMessage(message)
const tellProgress = () => {
  const { position, counts } = checkpoints.current()
  const suspendedTables = watch.suspendedTables()
  const counted = { ...figures, suspendedTables, cleaned: cleaning.list(), rowsSent: sent.list() }
  tell({ kind: 'progress', progress: { position, counts, ...counted } })
}

function onRetry(detail: string): void {
  figures.retries += 1
  logger.warn({ detail }, 'rows are not stored yet; trying again')
}

const untilAvailable = createUntilAvailable(ending.signal, onRetry)

const schemaApplied = new Int32Array(settings.schemaMemory)

/** Applies the schema, one writer at a time, because a view may be dropped and created again. */
const changeSchema = (isNeeded: () => boolean) =>
  untilAvailable(() =>
    locks.request('questdb-schema', async () => {
      if (!isNeeded()) return
      await applySchema(sql, { ttlDays: retentionDays })
      Atomics.store(schemaApplied, 0, 1)
    }),
  )
const repairSchema = () => changeSchema(() => true)

const deadLetters = createDeadLetterKeeper({ place, onRetry, signal: ending.signal })
const store = createRowStore({
  transport,
  saveDeadRows: (rows) => {
    logger.error({ rows: rows.length, table: rows[0]?.table }, 'rows went to the dead letters')
    return deadLetters.keep(rows)
  },
  repairSchema,
  onRetry,
  signal: ending.signal,
})

const onFailure: OnFailure = {
  async report(batch, error) {
    const { deviceId, position, sampleCount } = batch
    await deadLetters.keep([deadReportOf(batch, detailOf(error), Date.now())])
    logger.error({ deviceId, position, samples: sampleCount, err: error }, 'report_set_aside')
  },
  device(deviceId, error) {
    logger.error({ deviceId, err: error }, 'device_realignment_failed')
  },
}

/** Waits until queries return the rows that QuestDB had accepted but not applied before the restart. */
async function untilApplied(): Promise<void> {
  const wanted = checkpoints.current().position
  for (const limitMs = Date.now() + 30_000; Date.now() < limitMs && !stopping; await delay(200)) {
    await untilAvailable(watch.look)
    if (watch.appliedPosition() >= wanted) return
  }
}

const writer = createPartitionWriter({
  tail,
  checkpoints,
  openReaders: (from, earlierFrom) => {
    const onDamage = (damage: { from: LogPosition; to: LogPosition }) => {
      figures.damages += 1
      logger.error(damage, 'a stretch of the telemetry log is damaged; its bytes are in dead-letter/')
    }
    return {
      reader: openSegmentReader({ folder, deadLetters: place, from, onDamage }),
      ahead: openSegmentReader({ folder, from }),
      earlier: openSegmentReader({ folder, from: earlierFrom }),
    }
  },
  decode,
  questdb: createPatientSql(sql, untilAvailable),
  store,
  cleaning,
  sent,
  serverStartMs: watch.serverStartMs,
  untilApplied,
  onStored: (told, number) => tell({ kind: 'stored', told, number }),
  onBatch: tellProgress,
  onReplay(from) {
    figures.replays += 1
    logger.warn({ from }, 'QuestDB was started anew; sending again what it may have lost')
  },
  onFailure,
  onRestored(devices) {
    figures.statesRestored += devices
  },
  openStates: (reference) =>
    openStateFile({
      folder,
      reference,
      mayWrite: () => isLeaseHeld(settings.lease),
      onGivenUp: (error) => logger.warn({ detail: detailOf(error) }, 'states of devices are not kept on disk'),
    }),
})

const watching = repeat(
  2_000,
  async () => {
    await watch.look()
    if (watch.takeRestart()) writer.databaseRestarted()
    else writer.keep(watch.appliedPosition())
    tellProgress()
  },
  () => tellProgress(),
)

const viewUpkeep = isFirst ? startViewUpkeep(sql, logger) : undefined

parentPort?.on('message', (message: ToWriter) => {
  if (message.kind === 'confirm') return writer.confirm(message.number)
  stopping = true
  writer.stop()
  setTimeout(() => ending.abort(), stopLimitMs).unref()
})

tellProgress()
// The first writer of the process applies the schema, and the others wait for it.
await changeSchema(() => Atomics.load(schemaApplied, 0) === 0)
  .then(() => writer.run())
  .catch((error: unknown) => {
    // What could not be sent in time is in the log and is sent after the next start.
    if (!ending.signal.aborted) throw error
  })
await watching.stop()
checkpoints.close()
settings.decoding.close()
await viewUpkeep?.stop()
await Promise.all([transport.close(), sql.end()])
tell({ kind: 'stopped' })
parentPort?.close()
