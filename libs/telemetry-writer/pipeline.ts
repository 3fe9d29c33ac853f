import { setImmediate as yieldToLoop } from 'node:timers/promises'
import type { QuestdbSql } from '#questdb/sql'
import { waitUntilApplied } from '#questdb/wal-tables'
import type { Checkpoint, SampleCounts } from '#telemetry-log/checkpoint'
import type { LoggedBatch, LogPosition, TelemetryLogReader } from '#telemetry-log/log'
import type { SharedTail } from '#telemetry-log/shared-tail'
import type { CleaningCounts } from './cleaning-counts.ts'
import { type DecodeReport, decodeHere } from './decode-report.ts'
import { createDeviceReports, type DeviceReports } from './device-reports.ts'
import { createDeviceStates } from './device-states.ts'
import { createFailingReports, type OnFailure } from './failing-reports.ts'
import { createQuietReports } from './quiet-reports.ts'
import type { Realigned } from './realign-range.ts'
import { takeRealignTurn } from './realign-turn.ts'
import { createRealignTurns } from './realign-turns.ts'
import { createReportRows, type ReportCounts } from './report-rows.ts'
import { createRowBatch, fates } from './row-batch.ts'
import { noCounts, rowlessIn, sumCounts } from './sample-counts.ts'
import type { SentRows } from './sent-rows.ts'
import { askForStoredTimes, type DecodedReport, type StoredTimes } from './sightings.ts'
import { createSilentDevices } from './silent-devices.ts'
import type { RowStore } from './store-rows.ts'
import { createUnfinishedReports } from './unfinished-reports.ts'

export type Pipeline = {
  /** Reads and stores until `stop` is called; then what was read is stored and it resolves. */
  run(): Promise<void>
  stop(): void
  /** Lets go of what memory has of samples whose rows a query finds by now. */
  forget(appliedPosition: LogPosition): void
}

export type PipelineParts = {
  reader: TelemetryLogReader
  /** A second reader, which looks for reports that must not wait for a backlog. */
  ahead: TelemetryLogReader
  /** A third reader, for the reports of the replay window that `reader` does not read again. */
  earlier: TelemetryLogReader
  decode: DecodeReport
  tail: SharedTail
  /** Its statements wait while the database is away. */
  questdb: QuestdbSql
  store: RowStore
  cleaning: CleaningCounts
  sent: SentRows
  /** Samples before this position were counted by an earlier life. */
  checkpoint: Checkpoint
  /** `unfinishedPosition`: the oldest report before `position` whose realignment is only in memory. */
  onStored: (
    position: LogPosition,
    counts: SampleCounts,
    reports: ReturnType<DeviceReports['take']>,
    unfinishedPosition: LogPosition | undefined,
  ) => void
  onFailure: OnFailure
}

const flushAfterMs = 100
/** Every flush is a commit to each table that QuestDB has to apply: steady light traffic pays for two a second. */
const flushEveryMs = 500
const flushBytes = 4 * 1024 ** 2
const backlogFlushBytes = 16 * 1024 ** 2
/** With more than this waiting in the log, size and not time decides when rows are sent. */
const backlogBytes = 4 * 1024 ** 2
const chunkBytes = 2 * 1024 ** 2
/** So many bytes are worked off before the event loop gets to see what the network brought. */
const sliceBytes = 256 * 1024
/** With more than this waiting, or after so long behind the log's end, reports of quiet devices are processed first. */
const quietFirstBytes = 1024 ** 2
const quietFirstMs = 1_000
const quietEveryMs = 500
const generationMs = 60_000
const idleWaitMs = 1_000
/** With fewer to be aligned again than this, stays are settled too: late data must not queue behind a fleet that parks. */
const maxDirty = 100
/** How long a device's rows may take to be found before its state is made anew from them. */
const appliedWithinMs = 10_000
/** When fresh data has come meanwhile, what is left over waits for the next turn. */
const realignForMs = 500

/**
 * Turns the log into rows: read, decode, clean, count, encode, send. One request per table is under way at a time, so
 * that a later row of the same key is also the later one to arrive; the next rows are made meanwhile.
 */
export function createPipeline(parts: PipelineParts): Pipeline {
  const { reader, ahead, decode, tail, questdb, store, cleaning, sent, checkpoint, onStored, onFailure } = parts
  const rows = createRowBatch()
  const reports = createDeviceReports()
  const reportRows = createReportRows({ rows, reports, cleaning })
  let generation = 0
  let generationStart = { atMs: performance.now(), position: reader.position() }
  const states = createDeviceStates(questdb, () => generation, onFailure.device)
  const unfinished = createUnfinishedReports(states.hasWork)
  const silent = createSilentDevices(parts.earlier, reader.position(), states)
  const startTail = tail.position()
  const failing = createFailingReports()
  const quiet = createQuietReports(ahead)
  let quietAtMs = Number.NEGATIVE_INFINITY
  let caughtUpAtMs = performance.now()
  /** While reports of quiet devices are processed, flights do not count: the reader has not passed them. */
  let deadInAdvance: number | undefined
  let counts = checkpoint.counts
  /** Accepted samples before the reader's position; known once the checkpoint is passed. */
  let expectedSample = counts.stored + counts.replaced + counts.deadLettered
  /** What has been processed since the last flight and has no row of its own in the next one. */
  let rowless = noCounts
  let firstRowAtMs: number | undefined
  /** Like every time that only measures a pause, by the monotonic clock: the wall clock may be set back. */
  let lastFlightAtMs = Number.NEGATIVE_INFINITY
  let flight: Promise<void> | undefined
  let failure: { error: unknown } | undefined
  let stopping = false
  let takenPosition = reader.position()
  const realignTurns = createRealignTurns(performance.now())

  async function process(batches: readonly LoggedBatch[]): Promise<void> {
    const addReport = await prepare(batches.filter(({ position }) => !quiet.has(position)))
    let bytes = 0
    for (const batch of batches) {
      if (isCounted(batch)) expect(batch)
      const counts = quiet.pass(batch.position) ?? rowlessIn(await addReport(batch))
      rowless = sumCounts(rowless, counts)
      firstRowAtMs ??= performance.now()
      takenPosition = batch.nextPosition
      bytes += batch.body.length
      if (bytes < sliceBytes) continue
      bytes = 0
      await flushWhenDue()
      await yieldToLoop()
    }
  }

  /** Decodes reports and loads what is known of their devices. Returns a function that adds the rows of one. */
  async function prepare(batches: readonly LoggedBatch[]): Promise<(batch: LoggedBatch) => Promise<ReportCounts>> {
    const decoded = new Map<LogPosition, DecodedReport>()
    for (const batch of batches) {
      const report = decode(batch)
      decoded.set(batch.position, report instanceof Promise ? await report : report)
    }
    const receivedBeforeMs = batches.reduce((least, { receivedAtMs }) => Math.min(least, receivedAtMs), Infinity)
    await states.load(new Map(batches.map(({ deviceId, deviceClass }) => [deviceId, deviceClass])), receivedBeforeMs)
    const counted = [...decoded.values()].filter(({ batch }) => isCounted(batch))
    const stored = await askForStoredTimes(questdb, counted, states, generation)
    const renewed = new Set<string>()
    return async (batch) => {
      const { deviceId, position } = batch
      const report = decoded.get(position) ?? decodeHere(batch)
      decoded.delete(position)
      const added = tryToAdd(report, renewed.has(deviceId) ? await storedTimesOf(report) : stored)
      if (!('error' in added)) return added
      // What was asked about the device before its state was made anew is not all that the new state does not know.
      renewed.add(deviceId)
      return tryAgain(report, added.error)
    }
  }

  /**
   * Processes reports of devices that have little waiting before the backlog of others. The reader meets these reports
   * again when it comes to them; only then do they count.
   */
  async function processQuiet(): Promise<void> {
    const nowMs = performance.now()
    const waitingBytes = tail.position() - takenPosition
    const isBehind = waitingBytes >= quietFirstBytes || (waitingBytes > 0 && nowMs - caughtUpAtMs >= quietFirstMs)
    if (!isBehind || nowMs - quietAtMs < quietEveryMs) return
    const batches = quiet.take(takenPosition, tail.position())
    quietAtMs = nowMs
    if (batches.length === 0) return
    await flushAll()
    deadInAdvance = 0
    const addReport = await prepare(batches)
    const counts = new Map<LogPosition, ReportCounts>()
    for (const batch of batches) {
      firstRowAtMs ??= performance.now()
      counts.set(batch.position, await addReport(batch))
    }
    await flushAll()
    for (const [position, { stored, replaced, superseded, lost }] of counts) {
      const dead = Math.min(stored, deadInAdvance)
      deadInAdvance -= dead
      quiet.count(position, { stored: stored - dead, replaced: replaced + superseded, deadLettered: lost + dead })
    }
    deadInAdvance = undefined
  }

  function tryToAdd(report: DecodedReport, stored: StoredTimes): ReportCounts | { error: unknown } {
    if ('failure' in report) return { error: report.failure }
    const { batch } = report
    try {
      const added = reportRows.add(report, states.of(batch.deviceId), { counted: isCounted(batch), stored, generation })
      if (states.hasWork(batch.deviceId)) unfinished.note(batch.deviceId, batch.position)
      return added
    } catch (error) {
      return { error }
    }
  }

  /**
   * A report that failed is tried again alone, from a state made anew, and then set aside: nothing in it may keep the
   * reports of other devices waiting.
   */
  async function tryAgain(report: DecodedReport, firstError: unknown): Promise<ReportCounts> {
    const { batch } = report
    const { deviceId, deviceClass, sampleCount } = batch
    let error = firstError
    for (let left = failing.attempts(deviceId, Date.now()) - 1; left >= 0; left--) {
      // What earlier reports of the device made is part of its state.
      await flushAll()
      await waitUntilApplied(questdb, appliedWithinMs)
      await states.renew(deviceId, deviceClass)
      if (left === 0) break
      const added = tryToAdd(report, await storedTimesOf(report))
      if (!('error' in added)) return added
      error = added.error
    }
    failing.note(deviceId, Date.now())
    await onFailure.report(batch, error)
    return { stored: 0, replaced: 0, superseded: 0, lost: isCounted(batch) ? sampleCount : 0 }
  }

  const storedTimesOf = (report: DecodedReport) =>
    askForStoredTimes(questdb, isCounted(report.batch) ? [report] : [], states, generation)

  async function flushAll(): Promise<void> {
    if (firstRowAtMs !== undefined) {
      await flight
      startFlight()
    }
    await flight
    if (failure) throw failure.error
  }

  const isCounted = ({ position }: LoggedBatch) => position >= checkpoint.position

  /** Samples the log counts but does not give back were in a damaged stretch, whose bytes are in the dead letters. */
  function expect(batch: LoggedBatch): void {
    const lost = Math.max(0, batch.firstSample - expectedSample)
    rowless = sumCounts(rowless, { stored: 0, replaced: 0, deadLettered: lost })
    expectedSample = batch.firstSample + batch.sampleCount
  }

  const isBacklogged = () => tail.position() - takenPosition > backlogBytes

  function isDue(): boolean {
    if (firstRowAtMs === undefined) return false
    const backlogged = isBacklogged()
    if (rows.largestBytes() >= (backlogged ? backlogFlushBytes : flushBytes)) return true
    return !backlogged && performance.now() >= dueAtMs(firstRowAtMs)
  }

  const dueAtMs = (firstRowMs: number): number => Math.max(firstRowMs + flushAfterMs, lastFlightAtMs + flushEveryMs)

  async function flushWhenDue(): Promise<void> {
    if (failure) throw failure.error
    if (!isDue()) return
    if (flight && rows.largestBytes() < backlogFlushBytes) return
    await flight
    startFlight()
  }

  function startFlight(): void {
    const taken = rows.take()
    const position = takenPosition
    const unsent = rowless
    const unfinishedPosition = unfinished.oldest()
    for (const { reasons } of taken) sent.add(reasons)
    const told = reports.take()
    rowless = noCounts
    firstRowAtMs = undefined
    lastFlightAtMs = performance.now()
    flight = Promise.all(taken.map((tableRows) => store.store(tableRows))).then(
      (stored) => {
        flight = undefined
        if (deadInAdvance === undefined) counts = [counts, ...stored, unsent].reduce(sumCounts)
        else deadInAdvance += stored.reduce((sum, { deadLettered }) => sum + deadLettered, 0)
        if (position >= checkpoint.position) onStored(position, counts, told, unfinishedPosition)
      },
      (error: unknown) => {
        failure = { error }
      },
    )
  }

  /** Until there is something to read or to send. */
  async function rest(): Promise<void> {
    if (firstRowAtMs === undefined) return tail.waitBeyond(reader.position(), idleWaitMs)
    const dueInMs = dueAtMs(firstRowAtMs) - performance.now()
    if (dueInMs > 0) return tail.waitBeyond(reader.position(), dueInMs)
    await Promise.race([flight, tail.waitBeyond(reader.position(), idleWaitMs)])
  }

  /** Nothing is read meanwhile: rows must not change between being read back and being written again. */
  async function realign(): Promise<void> {
    const startedMs = performance.now()
    if (!realignTurns.isDue(startedMs)) return
    if (takenPosition >= startTail && !isBacklogged()) await silent.loadSome()
    const late = realignTurns.inOrder(states.dirty())
    const settling = isBacklogged() ? [] : states.settle(Date.now(), maxDirty - late.length)
    const dirty = [...late, ...settling]
    if (dirty.length === 0) return realignTurns.ended({ startedMs, endedMs: startedMs, isLeftOver: false })
    await flushAll()
    const isApplied = await waitUntilApplied(questdb, realignForMs)
    const limitMs = performance.now() + realignForMs
    const isFreshWaiting = () => performance.now() > limitMs && tail.position() > reader.position()
    const { lastDeviceId, isLeftOver } = await takeRealignTurn(isApplied ? dirty : [], {
      questdb,
      append: appendRealigned,
      flush: flushWhenDue,
      isOver: () => isFreshWaiting() || stopping || rows.largestBytes() >= flushBytes,
      nowMs: Date.now,
      onFailure: onFailure.device,
    })
    realignTurns.ended({ startedMs, endedMs: performance.now(), lastDeviceId, isLeftOver })
  }

  function appendRealigned(realigned: Realigned): void {
    rows.allOrNone(() => {
      for (const { row, origin } of realigned.rows) rows.append('cellular', row, origin, fates.uncounted, 'realigned')
      for (const { row, origin } of realigned.dwells) rows.append('dwell', row, origin, fates.uncounted, 'dwell')
    })
    for (const { row, origin } of realigned.dwells) reports.noteDwell(row, origin)
    // Those who are done do not wait for those who come after them.
    if (!rows.isEmpty()) firstRowAtMs ??= performance.now()
  }

  function advanceGeneration(appliedPosition: LogPosition): void {
    const nowMs = performance.now()
    if (nowMs - generationStart.atMs < generationMs || appliedPosition < generationStart.position) return
    generation += 1
    generationStart = { atMs: nowMs, position: takenPosition }
    states.evict(Date.now())
  }

  return {
    async run() {
      while (!stopping) {
        const end = tail.position()
        const batches = reader.read(end, chunkBytes)
        if (reader.position() >= end) caughtUpAtMs = performance.now()
        if (batches.length > 0) await process(batches)
        await flushWhenDue()
        await processQuiet()
        await realign()
        if (batches.length === 0) await rest()
        else await yieldToLoop()
      }
      await flight
      if (firstRowAtMs !== undefined) startFlight()
      await flight
      if (failure) throw failure.error
    },
    stop() {
      stopping = true
    },
    forget: advanceGeneration,
  }
}
