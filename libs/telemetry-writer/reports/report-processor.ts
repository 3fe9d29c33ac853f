import { LRUCache } from 'lru-cache'
import type { QuestdbSql } from '#questdb/server/sql'
import { waitUntilApplied } from '#questdb/server/wal-tables'
import type { LoggedBatch, LogPosition } from '#telemetry-log/log'
import type { DeviceStates } from '#telemetry-writer/states/device-states'
import { type DecodeReport, decodeHere } from './decode-report.ts'
import type { ReportCounts, ReportRows } from './report-rows.ts'
import { askForStoredTimes, type DecodedReport, type StoredSampleTimes } from './sightings.ts'

export type ReportProcessor = {
  /** Loads the states of the devices of these reports. `prepare` must wait for it. */
  load(batches: readonly LoggedBatch[]): Promise<void>
  /**
   * Decodes reports and loads the states of their devices that are not loaded. Returns a function that adds the rows of one
   * report to the batch and returns the counts of its samples. If that fails, it stores the report as a dead letter.
   */
  prepare(batches: readonly LoggedBatch[]): Promise<(batch: LoggedBatch) => Promise<ReportCounts>>
}

export type ReportProcessorParts = {
  questdb: QuestdbSql
  decode: DecodeReport
  states: DeviceStates
  reportRows: ReportRows
  isCounted: (batch: LoggedBatch) => boolean
  generation: () => number
  /** Sends all rows and waits until they are stored. */
  flushAll: () => Promise<void>
  /** Called after the rows of a report were added. */
  onAdded: (batch: LoggedBatch) => void
  /** The report is not retried: store it as a dead letter and count it. */
  onFailure: (batch: LoggedBatch, error: unknown) => void | Promise<void>
}

/** How long to wait until queries return the rows of a device before its state is restored from them. */
const appliedWithinMs = 10_000
const attempts = 3

/** Converts reports to rows, and retries failing reports. */
export function createReportProcessor(parts: ReportProcessorParts): ReportProcessor {
  const { questdb, decode, states, reportRows, isCounted, generation, flushAll, onAdded, onFailure } = parts
  /** Devices whose reports failed. Retries delay all devices, and the next report of such a device probably fails too. */
  const failing = new LRUCache<string, true>({ max: 10_000, ttl: 60 * 60_000 })

  const storedTimesOf = (reports: readonly DecodedReport[]) =>
    askForStoredTimes(
      questdb,
      reports.filter(({ batch }) => isCounted(batch)),
      states,
      generation(),
    )

  function tryToAdd(report: DecodedReport, stored: StoredSampleTimes): ReportCounts | { error: unknown } {
    if ('failure' in report) return { error: report.failure }
    const { batch } = report
    try {
      const told = { counted: isCounted(batch), stored, generation: generation() }
      const state = states.of(batch.deviceId)
      const added = reportRows.add(report, state, told)
      state.position = Math.max(state.position, batch.nextPosition)
      onAdded(batch)
      return added
    } catch (error) {
      return { error }
    }
  }

  /**
   * Retries a failed report alone, with a new state of its device. Then stores it as a dead letter, because it must not
   * delay the reports of other devices.
   */
  async function tryAgain(report: DecodedReport, firstError: unknown): Promise<ReportCounts> {
    const { batch } = report
    const { deviceId, deviceClass, sampleCount } = batch
    let error = firstError
    for (let left = (failing.has(deviceId) ? 1 : attempts) - 1; left >= 0; left--) {
      // The new state is restored from stored rows, so the rows of earlier reports must be stored.
      await flushAll()
      await waitUntilApplied(questdb, appliedWithinMs)
      await states.renew(deviceId, deviceClass)
      if (left === 0) break
      const added = tryToAdd(report, await storedTimesOf([report]))
      if (!('error' in added)) return added
      error = added.error
    }
    failing.set(deviceId, true)
    await onFailure(batch, error)
    return { stored: 0, replaced: 0, superseded: 0, lost: isCounted(batch) ? sampleCount : 0 }
  }

  async function load(batches: readonly LoggedBatch[]): Promise<void> {
    const receivedBeforeMs = batches.reduce((least, { receivedAtMs }) => Math.min(least, receivedAtMs), Infinity)
    await states.load(new Map(batches.map(({ deviceId, deviceClass }) => [deviceId, deviceClass])), receivedBeforeMs)
  }

  return {
    load,
    async prepare(batches) {
      const decoded = new Map<LogPosition, DecodedReport>()
      for (const batch of batches) {
        const report = decode(batch)
        decoded.set(batch.position, report instanceof Promise ? await report : report)
      }
      await load(batches)
      const stored = await storedTimesOf([...decoded.values()])
      const renewed = new Set<string>()
      return async (batch) => {
        const report = decoded.get(batch.position) ?? decodeHere(batch)
        decoded.delete(batch.position)
        const added = tryToAdd(report, renewed.has(batch.deviceId) ? await storedTimesOf([report]) : stored)
        if (!('error' in added)) return added
        // The new state lacks some times of the previous state, so `stored` lacks them too.
        renewed.add(batch.deviceId)
        return tryAgain(report, added.error)
      }
    },
  }
}
