import {
  countCellularRows,
  type Page,
  readCellularRows,
  readDwells,
  readFixReports,
  readLastPosition,
  type StoredCellularRow,
  type StoredDwell,
  type StoredFixReport,
  type TrackQuery,
} from '#questdb/device-tracks'
import type { QuestdbSql } from '#questdb/sql'
import { openTrackStore } from '#questdb/track-store'
import { maxTrailing } from '#telemetry/device-alignment'
import type { FixReport } from '#telemetry/distinct-fixes'
import { type DwellPolicy, dwellPolicies } from '#telemetry/dwell'
import { createStartSearch } from '#telemetry/realign-start'
import { type DeviceTrack, resetTrack, restoreTrack, setPast, startAfterPast } from './device-track.ts'

/** Interpolation and rows that can still change never reach further back than this. */
const lookBackMs = 20 * 60_000
/** A dwell that began earlier is found when the track is rebuilt. */
const longestDwellMs = 24 * 60 * 60_000
/** Devices per query, and the rows they may return together. Above that, each device has its own query. */
const readTogether = 50
const rowsTogether = 50_000
/** Limits of a query for one device. A device with more fixes is rebuilt from storage when it is quiet. */
const fixesAlone = 5_000
const dwellsAlone = 100
/** One more than an alignment keeps, so that it detects that there are older rows. */
const cellularRowsAlone = maxTrailing + 1
const cellsCharactersTogether = 256 * 1024
/** A dwell with more pages of fixes is rebuilt when its device is quiet. */
const dwellPages = 20

export type Recovery = {
  receivedBeforeMs: number
  /** Called when a track cannot be restored from storage. The track then starts without data. */
  onFailure: (deviceId: string, error: unknown) => void
}

type Found = { dwell: StoredDwell | undefined; reports: StoredFixReport[]; rows: StoredCellularRow[] }

/**
 * Restores the tracks of devices to their state before `receivedBeforeMs` from storage: the newest fixes and RF rows, and
 * all fixes of an open dwell. Reads a limited amount per device, newest first, so that a device with much data does not
 * delay the others.
 */
export async function recoverTracks(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  recovery: Recovery,
): Promise<void> {
  const all = [...tracks]
  for (let start = 0; start < all.length; start += readTogether) {
    await recoverSome(questdb, new Map(all.slice(start, start + readTogether)), recovery)
  }
}

async function recoverSome(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  { receivedBeforeMs, onFailure }: Recovery,
): Promise<void> {
  const deviceIds = [...tracks.keys()]
  const recent = { fromMs: receivedBeforeMs - lookBackMs, toMs: Number.POSITIVE_INFINITY, receivedBeforeMs }
  // A dwell that continued later has been written again, so it only tells how far to look back.
  const lastDay = { fromMs: receivedBeforeMs - longestDwellMs, toMs: recent.toMs }
  const dwells = await newestOf(deviceIds, dwellsAlone, (ids, page) => readDwells(questdb, ids, lastDay, page))
  const [reports, rows] = await Promise.all([
    newestOf(deviceIds, fixesAlone, (ids, page) => readFixReports(questdb, ids, recent, page)),
    readNewestRows(questdb, deviceIds, recent),
  ])
  const complete = new Set<string>()
  for (const [deviceId, track] of tracks) {
    const dwell = dwells.get(deviceId)?.findLast((one) => !one.withdrawn && one.arrivedAtMs < recent.fromMs)
    const found = { dwell, reports: reports.get(deviceId) ?? [], rows: rows.get(deviceId) ?? [] }
    const ofDwell = await fixesOfDwell(questdb, deviceId, found, recent)
    try {
      if (recoverTrack(track, found, { recent, ofDwell })) complete.add(deviceId)
    } catch (error) {
      onFailure(deviceId, error)
      resetTrack(track, receivedBeforeMs)
    }
  }
  await findPasts(questdb, new Map([...tracks].filter(([deviceId]) => !complete.has(deviceId))), receivedBeforeMs)
}

/** Reads devices together, or one by one if they have too much data. Returns each list ordered by time. */
async function newestOf<Item>(
  deviceIds: readonly string[],
  alone: number,
  read: (deviceIds: readonly string[], page: Page) => Promise<Map<string, Item[]>>,
): Promise<Map<string, Item[]>> {
  const found = await read(deviceIds, { limit: rowsTogether, newestFirst: true })
  const amount = [...found.values()].reduce((sum, items) => sum + items.length, 0)
  if (amount >= rowsTogether && deviceIds.length > 1) {
    for (const deviceId of deviceIds) {
      const own = await read([deviceId], { limit: alone, newestFirst: true })
      found.set(deviceId, own.get(deviceId) ?? [])
    }
  }
  for (const [deviceId, items] of found) found.set(deviceId, items.slice(0, alone).reverse())
  return found
}

/** Reads the newest RF rows. They are large, so devices with many have their own query. */
async function readNewestRows(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  recent: TrackQuery,
): Promise<Map<string, StoredCellularRow[]>> {
  const amounts = await countCellularRows(questdb, deviceIds, recent)
  const few: string[] = []
  const rows = new Map<string, StoredCellularRow[]>()
  for (const [deviceId, amount] of amounts) {
    if (amount.rows <= cellularRowsAlone && amount.cellsCharacters <= cellsCharactersTogether) {
      few.push(deviceId)
      continue
    }
    const own = await readCellularRows(questdb, [deviceId], recent, { limit: cellularRowsAlone, newestFirst: true })
    rows.set(deviceId, (own.get(deviceId) ?? []).reverse())
  }
  if (few.length === 0) return rows
  const limit = few.length * cellularRowsAlone
  for (const [deviceId, own] of await readCellularRows(questdb, few, recent, { limit })) rows.set(deviceId, own)
  return rows
}

/** Returns the fixes of an open dwell up to the recent ones. Undefined if there is no open dwell or it has too many. */
async function fixesOfDwell(
  questdb: QuestdbSql,
  deviceId: string,
  { dwell, reports }: Found,
  recent: TrackQuery,
): Promise<StoredFixReport[] | undefined> {
  if (!dwell || dwell.lastInsideAtMs < recent.fromMs || reports.length >= fixesAlone) return undefined
  const store = openTrackStore(questdb, deviceId)
  const found: StoredFixReport[] = []
  for (let page = 0, fromMs = dwell.arrivedAtMs; page < dwellPages; page++) {
    const range = { fromMs, toMs: recent.fromMs - 1, receivedBeforeMs: recent.receivedBeforeMs }
    const fixes = await store.fixes(range, fixesAlone)
    for (const fix of fixes) found.push(fix)
    if (fixes.length < fixesAlone) return found
    fromMs = (fixes.at(-1)?.tsMs ?? fromMs) + 1
  }
  return undefined
}

/** Restores a track. Returns whether no older data can affect the device's positions. */
function recoverTrack(
  track: DeviceTrack,
  { reports, rows }: Found,
  { recent, ofDwell }: { recent: TrackQuery; ofDwell: StoredFixReport[] | undefined },
): boolean {
  const policy = dwellPolicies[track.deviceClass]
  const isCut = reports.length >= fixesAlone
  const startMs = ofDwell ? ofDwell[0]?.tsMs : oldestStartMs(reports, policy)
  const knownFromMs = startMs ?? (isCut ? reports[0]?.tsMs : undefined) ?? recent.fromMs
  // Rows before the start have their final position: only late data moves them.
  const before = startMs === undefined ? [] : rows.filter(({ tsMs }) => tsMs < startMs)
  const droppedUntilMs = before.at(-1)?.tsMs ?? 0
  const known = ofDwell ? [...ofDwell, ...reports] : reports
  restoreTrack(track, { knownFromMs, droppedUntilMs, reports: known, rows: rows.slice(before.length) })
  return ofDwell !== undefined || startMs !== undefined
}

/** Returns the oldest fresh start among the reports. Data before it does not affect positions after it. */
function oldestStartMs(reports: readonly FixReport[], policy: DwellPolicy): number | undefined {
  const search = createStartSearch(policy)
  let startMs: number | undefined
  for (const report of reports.toReversed()) startMs = search.take([report])?.rowsFromMs ?? startMs
  return startMs
}

/** Sets the last position of each track before the fixes in memory. */
async function findPasts(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  receivedBeforeMs: number,
): Promise<void> {
  const find = async ([deviceId, track]: readonly [string, DeviceTrack]) => {
    const beforeMs = track.alignment.firstFix()?.firstReportMs ?? Number.POSITIVE_INFINITY
    setPast(track, await readLastPosition(questdb, deviceId, { beforeMs, receivedBeforeMs }))
  }
  await Promise.all([...tracks].map(find))
}

/** Starts the tracks of new devices and of devices without recent reports. */
export async function beginTracks(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  receivedBeforeMs: number,
): Promise<void> {
  await findPasts(questdb, tracks, receivedBeforeMs)
  for (const track of tracks.values()) if (track.past) startAfterPast(track, track.past)
}
