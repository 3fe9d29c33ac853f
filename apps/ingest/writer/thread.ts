import { setTimeout as delay } from 'node:timers/promises'
import { locks, parentPort, workerData } from 'node:worker_threads'
import { repeat } from '#core/schedule'
import { Secret } from '#core/secret'
import { createLogger } from '#http/request-log'
import { openIlpTransport } from '#questdb/ilp-transport'
import { applySchema } from '#questdb/schema'
import { openQuestdbSql } from '#questdb/sql'
import { deadReportOf } from '#telemetry-log/dead-letters'
import { isLeaseHeld } from '#telemetry-log/lease'
import type { LogPosition } from '#telemetry-log/log'
import { openSegmentCheckpoints } from '#telemetry-log/segment-checkpoints'
import { openSegmentReader } from '#telemetry-log/segment-reader'
import { openSharedTail } from '#telemetry-log/shared-tail'
import { openCheckpoints } from '#telemetry-writer/checkpoints'
import { createCleaningCounts } from '#telemetry-writer/cleaning-counts'
import { createDeadLetterKeeper } from '#telemetry-writer/dead-letter-keeper'
import type { OnFailure } from '#telemetry-writer/failing-reports'
import { createPatientSql } from '#telemetry-writer/patient-sql'
import { createPipeline } from '#telemetry-writer/pipeline'
import { createSentRows } from '#telemetry-writer/sent-rows'
import { createRowStore } from '#telemetry-writer/store-rows'
import { createUnconfirmedNews } from '#telemetry-writer/unconfirmed-news'
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
const news = createUnconfirmedNews()
const decode = createDecodeReport(settings.decoding)
const watch = createWatch({
  questdb: sql,
  storedPosition: () => checkpoints.current().position,
  resumes: partition === 0,
  logger,
})
const ending = new AbortController()
const figures = { retries: 0, damages: 0, replays: 0 }
let pipeline: ReturnType<typeof createPipeline> | undefined
/** Of the last rows that the pipeline stored; undefined before that. */
let stored: { unfinishedPosition: LogPosition | undefined } | undefined
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

async function untilAvailable<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, 5_000)) {
    try {
      return await work()
    } catch (error) {
      ending.signal.throwIfAborted()
      onRetry(detailOf(error))
      await delay(pauseMs, undefined, { signal: ending.signal })
    }
  }
}

// One writer at a time, because a view may be dropped and created again.
const repairSchema = () =>
  untilAvailable(() => locks.request('questdb-schema', () => applySchema(sql, { ttlDays: retentionDays })))

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

const patientSql = createPatientSql(sql, untilAvailable)
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

/** One life between two restarts of the database: everything it may have forgotten is sent again first. */
async function runOnce(): Promise<void> {
  const checkpoint = checkpoints.current()
  checkpoints.beginReplay()
  stored = undefined
  const serverStartMs = watch.serverStartMs()
  const from = checkpoints.readPosition(serverStartMs)
  const reader = openSegmentReader({
    folder,
    deadLetters: place,
    from,
    onDamage: (damage) => {
      figures.damages += 1
      logger.error(damage, 'a stretch of the telemetry log is damaged; its bytes are in dead-letter/')
    },
  })
  const ahead = openSegmentReader({ folder, from: reader.position() })
  const earlier = openSegmentReader({ folder, from: checkpoints.readPosition(undefined) })
  pipeline = createPipeline({
    reader,
    ahead,
    earlier,
    decode,
    tail,
    questdb: patientSql,
    store,
    cleaning,
    sent,
    checkpoint,
    onStored(position, counts, told, unfinishedPosition) {
      stored = { unfinishedPosition }
      const fromPosition = checkpoints.current().position
      if (told.reports.length + told.dwells.length > 0) tell({ kind: 'stored', told, number: news.sent(fromPosition) })
      checkpoints.advance(position, counts, { serverStartMs, resumePosition: resumePosition(position) })
      tellProgress()
    },
    onFailure,
  })
  try {
    if (!stopping) await pipeline.run()
  } finally {
    reader.close()
    ahead.close()
    earlier.close()
  }
}

/** Where the next start must read from, unless QuestDB lost rows. Everything before is stored and reported to Postgres. */
const resumePosition = (position: LogPosition): LogPosition =>
  Math.min(position, stored?.unfinishedPosition ?? position, news.oldest() ?? position)

/** Waits until queries return the rows that QuestDB had accepted but not applied before the restart. */
async function untilApplied(): Promise<void> {
  const wanted = checkpoints.current().position
  for (const limitMs = Date.now() + 30_000; Date.now() < limitMs && !stopping; await delay(200)) {
    await untilAvailable(watch.look)
    if (watch.appliedPosition() >= wanted) return
  }
}

async function run(): Promise<void> {
  await repairSchema()
  while (!stopping) {
    await untilApplied()
    await runOnce()
    if (!stopping) {
      figures.replays += 1
      logger.warn(
        { from: checkpoints.readPosition(undefined) },
        'QuestDB was started anew; sending again what it may have lost',
      )
    }
  }
}

const watching = repeat(
  2_000,
  async () => {
    await watch.look()
    if (watch.takeRestart()) {
      checkpoints.databaseRestarted()
      pipeline?.stop()
    } else {
      // Until the pipeline has caught up with the checkpoint, it may not have found all that was unfinished.
      if (stored) checkpoints.resumeFrom(resumePosition(checkpoints.current().position))
      checkpoints.keep()
    }
    pipeline?.forget(watch.appliedPosition())
    tellProgress()
  },
  () => tellProgress(),
)

parentPort?.on('message', (message: ToWriter) => {
  if (message.kind === 'confirm') return news.confirm(message.number)
  stopping = true
  pipeline?.stop()
  setTimeout(() => ending.abort(), stopLimitMs).unref()
})

tellProgress()
await run().catch((error: unknown) => {
  // What could not be sent in time is in the log and is sent by the next life.
  if (!ending.signal.aborted) throw error
})
await watching.stop()
checkpoints.close()
settings.decoding.close()
await Promise.all([transport.close(), sql.end()])
tell({ kind: 'stopped' })
parentPort?.close()
