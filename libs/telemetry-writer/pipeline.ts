import { setImmediate as yieldToLoop } from 'node:timers/promises'
import type { QuestdbSql } from '#questdb/server/sql'
import type { Checkpoint, SampleCounts } from '#telemetry-log/checkpoints/checkpoint'
import type { LoggedBatch, LogPosition, PartitionTail, TelemetryLogReader } from '#telemetry-log/log'
import { createRealignmentRunner } from '#telemetry-writer/realign/realignment-runner'
import { groupsOf } from '#telemetry-writer/recovery/recovery-shares'
import type { CleaningCounts } from '#telemetry-writer/reports/cleaning-counts'
import type { DecodeReport } from '#telemetry-writer/reports/decode-report'
import { createQuietReports } from '#telemetry-writer/reports/quiet-reports'
import { createReportProcessor, type ReportProcessorParts } from '#telemetry-writer/reports/report-processor'
import { createReportRows, type ReportCounts } from '#telemetry-writer/reports/report-rows'
import { rowlessIn } from '#telemetry-writer/reports/sample-counts'
import { createSampleLedger } from '#telemetry-writer/reports/sample-ledger'
import { createUnfinishedReports } from '#telemetry-writer/reports/unfinished-reports'
import { createDeviceReports, type DeviceReports } from '#telemetry-writer/states/device-reports'
import { createDeviceStates } from '#telemetry-writer/states/device-states'
import { createSilentDevices } from '#telemetry-writer/states/silent-devices'
import type { StateFile } from '#telemetry-writer/states/state-file'
import type { Activity } from '#telemetry-writer/store/activity'
import { createAppliedPositions } from '#telemetry-writer/store/applied-positions'
import { createFlushScheduler } from '#telemetry-writer/store/flush-scheduler'
import { createRowBatch } from '#telemetry-writer/store/row-batch'
import type { RowStore } from '#telemetry-writer/store/store-rows'

export type Pipeline = {
  /** Reads and stores until `stop` is called. Resolves when everything that was read is stored. */
  run(): Promise<void>
  stop(): void
  /** Removes sample times from memory whose rows queries return: those stored before `appliedMs` of `performance.now()`. */
  forget(appliedMs: number): void
  /** Everything before this position was read and has been stored. */
  settledPosition(): LogPosition
  /** Returns whether rows of a report that was read must still be realigned. `stop` leaves them as they are. */
  hasUnfinished(): boolean
}

export type PipelineParts = {
  reader: TelemetryLogReader
  /** A second reader, for reports that must not wait for a backlog. */
  ahead: TelemetryLogReader
  /** A third reader, for the reports of the replay window that `reader` does not read again. */
  earlier: TelemetryLogReader
  decode: DecodeReport
  tail: PartitionTail
  /** Its statements wait while the database is unavailable. */
  questdb: QuestdbSql
  store: RowStore
  cleaning: CleaningCounts
  activity: Activity
  /** Samples before this position were counted before the restart. */
  checkpoint: Checkpoint
  /** `unfinishedPosition`: the oldest report before `position` whose realignment is only in memory. */
  onStored: (
    position: LogPosition,
    counts: SampleCounts,
    reports: ReturnType<DeviceReports['take']>,
    unfinishedPosition: LogPosition | undefined,
  ) => void
  /** Receives reports and devices that fail although the database is available. */
  onFailure: {
    report: ReportProcessorParts['onFailure']
    /** Time ranges of the device could not be realigned, or its track could not be recovered. */
    device: (deviceId: string, error: unknown) => void
  }
  /** Whether `onStored` is told the moments of the devices of an organization, see `ReportedMoment`. */
  isAwaited?: ((organizationId: string) => boolean) | undefined
  /** A file that keeps the states of devices for the next process. */
  stateFile?: StateFile | undefined
}

/** If more bytes than this wait in the log, rows are sent in fewer and larger flushes. */
const backlogBytes = 4 * 1024 ** 2
const chunkBytes = 2 * 1024 ** 2
/**
 * Reports whose states are unpacked together, 7 KB each. Garbage collection copies them meanwhile, so there are few of them. After
 * a restart there are more, because one statement reads the states of many devices.
 */
const preparedTogether = { known: 100, unknown: 500 }
/** The event loop handles network events after this many bytes of reports. */
const sliceBytes = 256 * 1024
/** With more bytes waiting, or after this time without reaching the end of the log, the writer is behind. */
const behindBytes = 1024 ** 2
const behindMs = 1_000
const quietEveryMs = 500
const generationMs = 60_000
const idleWaitMs = 1_000
/** Less than this may wait to be read together before the next flush: reading each report by itself costs more. */
const unreadBytes = 64 * 1024

/**
 * Turns the log into stored rows. This module owns the place in the log and the order of work; each part below owns one
 * piece of state.
 */
// Long because the order of the steps and the place in the log are one thing.
export function createPipeline(parts: PipelineParts): Pipeline {
  const { reader, ahead, decode, tail, questdb, store, cleaning, activity, checkpoint, onStored, onFailure } = parts
  let takenPosition = reader.position()
  let settledPosition = takenPosition
  let isTaking = false
  let generation = 0
  let generationStart = { atMs: performance.now(), position: takenPosition }
  let quietAtMs = Number.NEGATIVE_INFINITY
  let caughtUpAtMs = performance.now()
  let stopping = false
  const startTail = tail.position()
  const isBacklogged = () => tail.waitingBytes(takenPosition) > backlogBytes
  function isBehind(): boolean {
    const waitingBytes = tail.waitingBytes(takenPosition)
    return waitingBytes >= behindBytes || (waitingBytes > 0 && performance.now() - caughtUpAtMs >= behindMs)
  }

  const applied = createAppliedPositions()
  const rows = createRowBatch()
  const reports = createDeviceReports()
  const ledger = createSampleLedger(checkpoint)
  const states = createDeviceStates({
    questdb,
    generation: () => generation,
    position: () => reader.position(),
    onFailure: onFailure.device,
    activity,
    kept: parts.stateFile && { file: parts.stateFile, before: takenPosition },
  })
  const unfinished = createUnfinishedReports(states.hasWork)
  const silent = createSilentDevices(parts.earlier, takenPosition, states)
  const quiet = createQuietReports(ahead)
  const flushes = createFlushScheduler({
    rows,
    store,
    isBacklogged,
    isBehind,
    devices: states.size,
    onFlush(tables) {
      for (const { reasons } of tables) for (const reason of reasons) activity.rowsSent[reason] += 1
      const position = takenPosition
      const [news, unfinishedPosition, addStored] = [reports.take(), unfinished.oldest(), ledger.startFlush()]
      return (stored) => {
        const counts = addStored(stored)
        settledPosition = Math.max(settledPosition, position)
        if (position < checkpoint.position) return
        applied.stored(position)
        onStored(position, counts, news, unfinishedPosition)
      }
    },
  })
  const processor = createReportProcessor({
    questdb,
    decode,
    states,
    reportRows: createReportRows({ rows, reports, cleaning, isAwaited: parts.isAwaited }),
    isCounted: ledger.isCounted,
    generation: () => generation,
    flushAll: flushes.flushAll,
    onAdded({ deviceId, position }) {
      if (states.hasWork(deviceId)) unfinished.note(deviceId, position)
    },
    onFailure: onFailure.report,
  })
  const realignment = createRealignmentRunner({
    questdb,
    states,
    rows,
    reports,
    flushes,
    isBacklogged,
    isFreshWaiting: () => tail.position() > reader.position(),
    isStopping: () => stopping,
    onFailure: onFailure.device,
  })

  async function process(batches: readonly LoggedBatch[]): Promise<void> {
    isTaking = true
    let bytes = 0
    const isKnown = batches.every(({ deviceId }) => states.has(deviceId))
    const groups = groupsOf(batches, isKnown ? preparedTogether.known : preparedTogether.unknown)
    const unprocessedOf = (group: readonly LoggedBatch[]) => group.filter(({ position }) => !quiet.has(position))
    for (const [index, some] of groups.entries()) {
      const addReport = await processor.prepare(unprocessedOf(some))
      // QuestDB reads the states of the next devices while this thread processes reports.
      const loading = processor.load(unprocessedOf(groups[index + 1] ?? []))
      // Awaited below, unless a report fails first.
      loading.catch(() => undefined)
      for (const batch of some) {
        ledger.expect(batch)
        ledger.addRowless(quiet.pass(batch.position) ?? rowlessIn(await addReport(batch)))
        flushes.noteAdded()
        takenPosition = batch.nextPosition
        bytes += batch.body.length
        if (bytes < sliceBytes) continue
        bytes = 0
        await flushes.flushWhenDue()
        await yieldToLoop()
      }
      // A state is complete only then.
      await loading
      states.packIdle(performance.now())
    }
    isTaking = false
  }

  /**
   * Processes reports of devices with a small backlog before the backlog of others. The reader reads these reports again
   * later; only then are they counted.
   */
  async function processQuiet(): Promise<void> {
    const nowMs = performance.now()
    if (nowMs - quietAtMs < quietEveryMs || !isBehind()) return
    const batches = quiet.take(takenPosition, tail.position())
    quietAtMs = nowMs
    if (batches.length === 0) return
    await flushes.flushAll()
    ledger.startAdvance()
    const addReport = await processor.prepare(batches)
    const counts = new Map<LogPosition, ReportCounts>()
    for (const batch of batches) {
      flushes.noteAdded()
      counts.set(batch.position, await addReport(batch))
    }
    await flushes.flushAll()
    for (const [position, { stored, replaced, superseded, lost }] of counts) {
      const dead = ledger.takeDeadInAdvance(stored)
      quiet.count(position, { stored: stored - dead, replaced: replaced + superseded, deadLettered: lost + dead })
    }
    ledger.endAdvance()
  }

  /** Waits until there is work to do. */
  async function rest(): Promise<void> {
    const dueInMs = flushes.dueInMs()
    if (dueInMs !== undefined && dueInMs <= 0) {
      await Promise.race([flushes.inProgress(), tail.waitBeyond(reader.position(), idleWaitMs)])
      return
    }
    const restMs = Math.min(flushes.restMs(), dueInMs ?? idleWaitMs)
    if (restMs > 0) await tail.waitBeyond(reader.position() + unreadBytes, restMs)
    else await tail.waitBeyond(reader.position(), dueInMs ?? idleWaitMs)
  }

  return {
    async run() {
      while (!stopping) {
        // First, because after a restart the backlog of a loud device takes seconds to process.
        await processQuiet()
        const end = tail.position()
        const batches = reader.read(end, chunkBytes)
        if (reader.position() >= end) caughtUpAtMs = performance.now()
        if (batches.length > 0) await process(batches)
        quiet.follow(takenPosition)
        await flushes.flushWhenDue()
        if (takenPosition >= startTail && !isBehind()) await silent.loadSome()
        await realignment.run()
        states.packIdle(performance.now())
        if (batches.length === 0) {
          await rest()
          // What arrived meanwhile is not a backlog.
          caughtUpAtMs = performance.now()
        } else await yieldToLoop()
      }
      await flushes.flushAll()
    },
    stop() {
      stopping = true
      tail.wake()
    },
    settledPosition() {
      // Behind the last report there may be positions without one.
      const isIdle = !isTaking && !flushes.hasWaiting() && flushes.inProgress() === undefined
      if (isIdle) settledPosition = Math.max(settledPosition, reader.position())
      return settledPosition
    },
    hasUnfinished: () => unfinished.oldest() !== undefined,
    forget(appliedMs) {
      const [nowMs, appliedPosition] = [performance.now(), applied.before(appliedMs)]
      if (nowMs - generationStart.atMs < generationMs || appliedPosition < generationStart.position) return
      generation += 1
      generationStart = { atMs: nowMs, position: takenPosition }
      states.evict(Date.now())
    },
  }
}
