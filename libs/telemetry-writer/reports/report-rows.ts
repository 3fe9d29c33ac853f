import type { StoredCellularRow } from '#questdb/writer/device-tracks'
import { type FixReport, fixReport } from '#telemetry/position/distinct-fixes'
import { cleanSample } from '#telemetry/report/clean'
import type { CleanRow } from '#telemetry/report/rows'
import type { RowOrigin } from '#telemetry/rows/ilp'
import type { DeviceReports } from '#telemetry-writer/states/device-reports'
import type { DeviceState } from '#telemetry-writer/states/device-state'
import { remember, sight } from '#telemetry-writer/states/seen-samples'
import { type Fate, fates, type RowBatch } from '#telemetry-writer/store/row-batch'
import { advanceTrack, type TrackStep } from '#telemetry-writer/tracks/device-track'
import type { CleaningCounts } from './cleaning-counts.ts'
import type { DecodedReport, StoredTimes } from './sightings.ts'

export type ReportRows = {
  /**
   * Adds the rows of one report to the batch, all or, when it throws, none; the device's state is halfway then. `counted` is false
   * when its samples were counted before a restart. Returns what its counted samples are.
   */
  add(
    report: DecodedReport,
    state: DeviceState,
    told: { counted: boolean; stored: StoredTimes; generation: number },
  ): ReportCounts
}

/**
 * Counted samples of a report: rows that are new or replace an earlier one, and samples without a row, superseded within
 * the report or lost in decoding.
 */
export type ReportCounts = { stored: number; replaced: number; superseded: number; lost: number }

type RadioRows = Map<number, { row: StoredCellularRow; fate: Fate }>

/** Cleans samples, finds repetitions, aligns RF rows and records the changes for Postgres. */
export function createReportRows(parts: {
  rows: RowBatch
  reports: DeviceReports
  cleaning: CleaningCounts
}): ReportRows {
  const { rows, reports, cleaning } = parts

  /** Adds RF rows, earlier rows that the new fixes move, and dwells. Returns the dwells. */
  function addTrackRows(
    { track }: DeviceState,
    origin: RowOrigin,
    fixes: readonly FixReport[],
    radio: RadioRows,
    counted: boolean,
  ): TrackStep['dwells'] {
    const { deviceId } = origin
    const samples = [...radio.values()].map(({ row }) => row)
    const step = advanceTrack(track, origin, fixes, samples)
    let earlierOrigin = origin
    for (const row of step.rows) {
      const fate = radio.get(row.tsMs)?.fate
      if (fate === undefined) {
        const { organizationId, receivedAtMs } = row
        const isSame = earlierOrigin.receivedAtMs === receivedAtMs && earlierOrigin.organizationId === organizationId
        if (!isSame) earlierOrigin = { deviceId, organizationId, receivedAtMs }
      }
      const [rowOrigin, reason] =
        fate === undefined ? [earlierOrigin, 'realigned' as const] : [origin, 'fresh' as const]
      rows.append('cellular', row, rowOrigin, fate ?? fates.uncounted, counted ? reason : 'replayed')
    }
    for (const { row, origin: dwellOrigin } of step.dwells)
      rows.append('dwell', row, dwellOrigin, fates.uncounted, counted ? 'dwell' : 'replayed')
    return step.dwells
  }

  const addReport: ReportRows['add'] = ({ batch, samples }, state, { counted, stored, generation }) => {
    const { deviceId, organizationId, receivedAtMs } = batch
    const origin = { deviceId, organizationId, receivedAtMs }
    const fixes = new Map<number, FixReport | null>()
    const radio: RadioRows = new Map()
    const notable: CleanRow[] = []
    const counts = { stored: 0, replaced: 0, superseded: 0 }
    const countRow = (fate: Fate) => {
      if (fate === fates.stored) counts.stored += 1
      else if (fate === fates.replaced) counts.replaced += 1
    }
    state.usedAtMs = Math.max(state.usedAtMs, receivedAtMs)
    for (let index = 0; index < samples.length; index++) {
      const sample = samples[index]
      if (sample === undefined) continue
      const { kind, tsMs } = sample
      const seen = state.seen[kind]
      const sighting = sight(seen, tsMs, generation)
      const isRepeat = sighting === 'repeated' || (sighting === 'unsure' && stored.has(deviceId, kind, tsMs))
      if (sighting !== 'repeated') remember(seen, tsMs)
      const isCounted = counted && index < batch.sampleCount
      const fate = !isCounted ? fates.uncounted : isRepeat ? fates.replaced : fates.stored
      const row = cleanSample(sample, cleaning.count)
      if (row.kind !== 'cellular') {
        if (counted) notable.push(row)
        rows.append(kind, row, origin, fate, counted ? 'fresh' : 'replayed')
        countRow(fate)
        // Of two fixes with the same millisecond, only the later becomes a row.
        if (row.kind === 'location') fixes.set(tsMs, fixReport(row))
        continue
      }
      // Of two RF samples with the same millisecond, only the later becomes a row. It counts like the first.
      const earlier = radio.get(tsMs)
      if (!earlier) countRow(fate)
      else if (isCounted) counts.superseded += 1
      radio.set(tsMs, { row: Object.assign(row, { organizationId, receivedAtMs }), fate: earlier?.fate ?? fate })
    }
    const usable = [...fixes.values()].filter((fix) => fix !== null)
    const dwells = usable.length > 0 || radio.size > 0 ? addTrackRows(state, origin, usable, radio, counted) : []
    // The following code must not throw, because recorded changes cannot be undone.
    for (const row of notable) reports.note(batch, row, state)
    for (const dwell of dwells) reports.noteDwell(dwell.row, dwell.origin)
    // Decoding returns the same samples as at acceptance, unless an upgrade changed its rules.
    return { ...counts, lost: counted ? Math.max(0, batch.sampleCount - samples.length) : 0 }
  }

  return { add: (report, state, told) => rows.allOrNone(() => addReport(report, state, told)) }
}
