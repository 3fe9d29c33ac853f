import {
  readCellularRows,
  readDwells,
  readFixReports,
  type StoredCellularRow,
  type StoredDwell,
  type StoredFixReport,
} from '#questdb/device-tracks'
import type { QuestdbSql } from '#questdb/sql'
import { align } from '#telemetry/align'
import { createDeviceAlignment, initialAlignmentState, type TimeRange } from '#telemetry/device-alignment'
import { distinctFixes } from '#telemetry/distinct-fixes'
import { dwellId, dwellPolicies } from '#telemetry/dwell'
import type { RowOrigin } from '#telemetry/ilp'
import { realignWindow } from '#telemetry/realign'
import { type DeviceTrack, type DwellRow, dwellRow } from './device-track.ts'

/** Rows to write again, each with where it came from. */
export type Realigned = {
  rows: { row: StoredCellularRow; origin: RowOrigin }[]
  dwells: { row: DwellRow; origin: RowOrigin }[]
}

/** How far around a dirty range the fixes are read until a fresh start is found on each side. */
const longestReachMs = 7 * 24 * 60 * 60_000
const reachesMs = [60 * 60_000, 12 * 60 * 60_000, longestReachMs]
/** A fix each second for longer than the longest reach; of RF rows, which are larger, only the oldest are aligned again. */
const maxFixes = 1_000_000
const maxRows = 200_000

/**
 * Aligns a device's dirty ranges anew from what is stored, which must include everything the track has seen, and brings
 * the track itself up to date when it had to leave late fixes out. Returns what changed.
 */
export async function realignDevice(questdb: QuestdbSql, deviceId: string, track: DeviceTrack): Promise<Realigned> {
  const realigned: Realigned = { rows: [], dwells: [] }
  const { staleFromMs } = track.alignment.state()
  const ranges =
    staleFromMs === null ? track.dirty : [{ fromMs: staleFromMs, toMs: Number.POSITIVE_INFINITY }, ...track.dirty]
  for (const range of ranges) await realignRange(questdb, deviceId, track, range, realigned)
  track.dirty = []
  return realigned
}

async function realignRange(
  questdb: QuestdbSql,
  deviceId: string,
  track: DeviceTrack,
  range: TimeRange,
  realigned: Realigned,
): Promise<void> {
  const policy = dwellPolicies[track.deviceClass]
  const { reports, window } = await readWindow(questdb, deviceId, track, range)
  const rows = (await readCellularRows(questdb, [deviceId], window.rows, maxRows)).get(deviceId) ?? []
  const aligned = align(reports, rows, policy)
  for (const [index, row] of aligned.rows.entries()) {
    // Alignment returns the same row when its position stands.
    if (row !== rows[index])
      realigned.rows.push({ row: row as StoredCellularRow, origin: originOf(deviceId, row as StoredCellularRow) })
  }

  const stored = (await readDwells(questdb, [deviceId], window.reports)).get(deviceId) ?? []
  const found = new Set(aligned.dwells.map(({ arrivedAtMs }) => arrivedAtMs))
  for (const dwell of stored) {
    if (dwell.withdrawn || found.has(dwell.arrivedAtMs)) continue
    realigned.dwells.push({ row: withdrawnRow(deviceId, dwell.arrivedAtMs), origin: originOf(deviceId, dwell) })
  }
  for (const dwell of aligned.dwells) {
    const known = stored.find(({ arrivedAtMs }) => arrivedAtMs === dwell.arrivedAtMs)
    // One that is new belongs to whoever owned the device when it arrived.
    const source = known ?? reports.find(({ tsMs }) => tsMs >= dwell.arrivedAtMs)
    if (source) realigned.dwells.push({ row: dwellRow(deviceId, dwell), origin: originOf(deviceId, source) })
  }

  const { staleFromMs } = track.alignment.state()
  if (staleFromMs === null || window.rows.toMs !== Number.POSITIVE_INFINITY) return
  track.alignment = createDeviceAlignment(policy, {
    ...initialAlignmentState,
    knownFromMs: Math.max(window.rows.fromMs, 0),
  })
  track.alignment.apply(reports, aligned.rows)
}

/** The reports of the window around a range, read further and further out until the window is closed or all is read. */
async function readWindow(questdb: QuestdbSql, deviceId: string, track: DeviceTrack, range: TimeRange) {
  const policy = dwellPolicies[track.deviceClass]
  let around: StoredFixReport[] = []
  let window = realignWindow([], range, policy)
  for (const reachMs of reachesMs) {
    const reach = { fromMs: range.fromMs - reachMs, toMs: range.toMs + reachMs }
    around = (await readFixReports(questdb, [deviceId], reach, maxFixes)).get(deviceId) ?? []
    window = realignWindow(distinctFixes(around), range, policy)
    if (
      Number.isFinite(window.reports.fromMs) &&
      (Number.isFinite(window.reports.toMs) || !Number.isFinite(range.toMs))
    )
      break
    const stay = reachMs === longestReachMs ? await stayAcross(questdb, deviceId, window.reports, reach) : undefined
    if (stay) {
      reach.fromMs = stay.arrivedAtMs
      around = (await readFixReports(questdb, [deviceId], reach, maxFixes)).get(deviceId) ?? []
    }
    // Beyond this reach the rows are left as they are: they are no worse than they were.
    window = { reports: clip(window.reports, reach), rows: clip(window.rows, reach) }
  }
  const { fromMs, toMs } = window.reports
  return { window, reports: around.filter(({ tsMs }) => tsMs >= fromMs && tsMs <= toMs) }
}

/**
 * The stay that was going on where what was read begins in the middle of something: its arrival is as good a beginning, and
 * without it the rest of a long stay would be taken for another one.
 */
async function stayAcross(
  questdb: QuestdbSql,
  deviceId: string,
  found: TimeRange,
  reach: TimeRange,
): Promise<StoredDwell | undefined> {
  if (Number.isFinite(found.fromMs)) return undefined
  const before = { fromMs: Number.NEGATIVE_INFINITY, toMs: reach.fromMs }
  const last = (await readDwells(questdb, [deviceId], before)).get(deviceId)?.findLast(({ withdrawn }) => !withdrawn)
  return last && last.lastInsideAtMs >= reach.fromMs ? last : undefined
}

const clip = (range: TimeRange, reach: TimeRange): TimeRange => ({
  fromMs: Math.max(range.fromMs, reach.fromMs),
  toMs: Math.min(range.toMs, reach.toMs),
})

const originOf = (
  deviceId: string,
  { organizationId, receivedAtMs }: { organizationId: string; receivedAtMs: number },
) => ({
  deviceId,
  organizationId,
  receivedAtMs,
})

const withdrawnRow = (deviceId: string, arrivedAtMs: number): DwellRow => ({
  tsMs: arrivedAtMs,
  id: dwellId(deviceId, arrivedAtMs),
  departedAtMs: null,
  firstOutsideAtMs: null,
  lastInsideAtMs: arrivedAtMs,
  lat: 0,
  lon: 0,
  radiusM: 0,
  fixCount: 0,
  gap: false,
  withdrawn: true,
})
