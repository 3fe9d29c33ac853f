import { type FixReport, fixReport } from '#telemetry/position/distinct-fixes'
import { cleanSample, shareSimPlmn } from '#telemetry/report/clean'
import type { CleanRow, LocationRow, RowOf } from '#telemetry/report/rows'
import { radioKey, rowSource } from '#telemetry/report/sources'
import type { RowOrigin } from '#telemetry/rows/ilp'
import { type RadioRow, radioRow } from '#telemetry/rows/radio-row'
import type { DeviceReports } from '#telemetry-writer/states/device-reports'
import type { DeviceState } from '#telemetry-writer/states/device-state'
import { emptyMoment, noteSample } from '#telemetry-writer/states/reported-moments'
import { remember, sight } from '#telemetry-writer/states/seen-samples'
import { fates, type RowBatch, type RowOutcome } from '#telemetry-writer/store/row-batch'
import { advanceTrack, fixAt, noteSims, type TrackStep } from '#telemetry-writer/tracks/device-track'
import type { CleaningCounts } from './cleaning-counts.ts'
import type { DecodedReport, StoredSampleTimes } from './sightings.ts'

export type ReportRows = {
  /**
   * Adds the rows of one report to the batch, all or, when it throws, none; the device's state is halfway then. `counted` is false
   * when its samples were counted before a restart. Returns what its counted samples are.
   */
  add(
    report: DecodedReport,
    state: DeviceState,
    told: { counted: boolean; stored: StoredSampleTimes; generation: number },
  ): ReportCounts
}

/**
 * Counted samples of a report: rows that are new or replace an earlier one, and samples without a row, superseded within
 * the report or lost in decoding.
 */
export type ReportCounts = { stored: number; replaced: number; superseded: number; lost: number }

type RadioRows = Map<number | string, { row: RadioRow; fate: RowOutcome }>

/** Whether a fix of unknown time has the position of the fix before, which it then repeats. `fixes`: of the same report. */
function repeatsFix({ lat, lon, tsMs }: LocationRow, fixes: ReadonlyMap<number, FixReport | null>, state: DeviceState) {
  const known = fixAt(state.track, tsMs)
  let before: { lat: number; lon: number } | undefined = known
  let beforeMs = known?.lastReportMs ?? Number.NEGATIVE_INFINITY
  for (const fix of fixes.values()) {
    if (!fix || fix.tsMs > tsMs || fix.tsMs < beforeMs) continue
    before = fix
    beforeMs = fix.tsMs
  }
  return before?.lat === lat && before.lon === lon
}

/** Cleans samples, finds repetitions, aligns RF rows and records the changes for Postgres. */
// Long because each kind of row needs the same sample, state and counts.
export function createReportRows(parts: {
  rows: RowBatch
  reports: DeviceReports
  cleaning: CleaningCounts
  /** Whether a job of the organization waits for a good moment of its device. Default: none does. */
  isAwaited?: ((organizationId: string) => boolean) | undefined
}): ReportRows {
  const { rows, reports, cleaning, isAwaited = () => false } = parts

  /** Adds RF rows, earlier rows that the new fixes move, and dwells. */
  function addTrackRows(
    { track }: DeviceState,
    origin: RowOrigin,
    fixes: readonly FixReport[],
    radio: RadioRows,
    counted: boolean,
  ): TrackStep {
    const { deviceId } = origin
    const samples = [...radio.values()].map(({ row }) => row)
    const step = advanceTrack(track, origin, fixes, samples)
    let earlierOrigin = origin
    for (const row of step.rows) {
      const fate = radio.get(radioKey(row))?.fate
      if (fate === undefined) {
        const { organizationId, receivedAtMs } = row
        const isSame = earlierOrigin.receivedAtMs === receivedAtMs && earlierOrigin.organizationId === organizationId
        if (!isSame) earlierOrigin = { deviceId, organizationId, receivedAtMs }
      }
      const [rowOrigin, reason] =
        fate === undefined ? [earlierOrigin, 'realigned' as const] : [origin, 'fresh' as const]
      rows.appendRadio(row, rowOrigin, fate ?? fates.uncounted, counted ? reason : 'replayed')
    }
    for (const { row, origin: dwellOrigin } of step.dwells)
      rows.append('dwell', row, dwellOrigin, fates.uncounted, counted ? 'dwell' : 'replayed')
    return step
  }

  const addReport: ReportRows['add'] = ({ batch, samples }, state, { counted, stored, generation }) => {
    const { deviceId, organizationId, receivedAtMs } = batch
    const origin = { deviceId, organizationId, receivedAtMs }
    const fixes = new Map<number, FixReport | null>()
    const radio: RadioRows = new Map()
    const notable: CleanRow[] = []
    const connections: RowOf<'connection'>[] = []
    const moment = counted && isAwaited(organizationId) ? emptyMoment(origin) : undefined
    const sims: Parameters<typeof noteSims>[1][number][] = []
    const counts = { stored: 0, replaced: 0, superseded: 0 }
    const countRow = (fate: RowOutcome) => {
      if (fate === fates.stored) counts.stored += 1
      else if (fate === fates.replaced) counts.replaced += 1
    }
    state.usedAtMs = Math.max(state.usedAtMs, receivedAtMs)
    for (let index = 0; index < samples.length; index++) {
      const sample = samples[index]
      if (sample === undefined) continue
      const { kind, tsMs } = sample
      const seen = state.seen[kind]
      const row = cleanSample(sample, cleaning.count)
      const source = rowSource(row)
      const sighting = sight(seen, tsMs, source, generation)
      const isRepeat = sighting === 'repeated' || (sighting === 'unsure' && stored.has(deviceId, kind, source, tsMs))
      if (sighting !== 'repeated') remember(seen, tsMs, source)
      const isCounted = counted && index < batch.sampleCount
      const fate = !isCounted ? fates.uncounted : isRepeat ? fates.replaced : fates.stored
      if (moment) noteSample(moment, row)
      if (row.kind !== 'cellular') {
        if (row.kind === 'location' && row.isUndated) row.usable = repeatsFix(row, fixes, state)
        if (counted) notable.push(row)
        rows.append(kind, row, origin, fate, counted ? 'fresh' : 'replayed')
        countRow(fate)
        if (row.kind === 'connection' && row.simPlmn !== null) connections.push(row)
        if (row.kind === 'connection' && (row.iccid !== null || row.simSlot !== null))
          sims.push({ modem: row.modem, fromMs: tsMs, iccid: row.iccid, simSlot: row.simSlot })
        // Of two fixes with the same millisecond, only the later becomes a row.
        if (row.kind === 'location') fixes.set(tsMs, fixReport(row))
        continue
      }
      // Of two RF samples of a modem with the same millisecond, only the later becomes a row. It counts like the first.
      const key = radioKey(row)
      const earlier = radio.get(key)
      if (!earlier) countRow(fate)
      else if (isCounted) counts.superseded += 1
      radio.set(key, { row: radioRow(row, organizationId, receivedAtMs), fate: earlier?.fate ?? fate })
    }
    shareSimPlmn(
      connections,
      radio.values().map(({ row }) => row),
    )
    if (sims.length > 0) noteSims(state.track, sims)
    const usable = [...fixes.values()].filter((fix) => fix !== null)
    const step = usable.length > 0 || radio.size > 0 ? addTrackRows(state, origin, usable, radio, counted) : undefined
    // The following code must not throw, because recorded changes cannot be undone.
    for (const row of notable) reports.note(batch, row, state)
    for (const dwell of step?.dwells ?? []) reports.noteDwell(dwell.row, dwell.origin)
    if (moment) reports.noteMoment({ ...moment, dwelling: step?.isDwelling })
    // Decoding returns the same samples as at acceptance, unless an upgrade changed its rules.
    return { ...counts, lost: counted ? Math.max(0, batch.sampleCount - samples.length) : 0 }
  }

  return { add: (report, state, told) => rows.allOrNone(() => addReport(report, state, told)) }
}
