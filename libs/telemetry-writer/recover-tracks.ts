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
import { maxInterpolation } from '#telemetry/align'
import { createDeviceAlignment, initialAlignmentState, maxTrailing } from '#telemetry/device-alignment'
import type { FixReport } from '#telemetry/distinct-fixes'
import { type DwellPolicy, dwellPolicies } from '#telemetry/dwell'
import { createStartSearch } from '#telemetry/realign-start'
import { createDeviceTrack, type DeviceTrack, markDirty, noteOwner } from './device-track.ts'

/** Interpolation and the rows that may still change never reach further back than this. */
const lookBackMs = 20 * 60_000
/** A dwell that began earlier is looked for when the track is worked through again. */
const longestStayMs = 24 * 60 * 60_000
/** Devices that are read together, and what they may give together; above it each is read alone. */
const readTogether = 50
const rowsTogether = 50_000
/** Of one device. With fewer fixes than it has, its past is worked through again once it is quiet. */
const fixesAlone = 5_000
const dwellsAlone = 100
/** One more than are kept: the track then knows that there are older ones. */
const radioRowsAlone = maxTrailing + 1
const cellsCharactersTogether = 256 * 1024
/** A dwell of more fixes is worked through again once its device is quiet. */
const stayPages = 20

export type Recovery = {
  receivedBeforeMs: number
  /** Told when a track could not be made from what is stored; it then begins anew. */
  onFailure: (deviceId: string, error: unknown) => void
}

type Found = { stay: StoredDwell | undefined; reports: StoredFixReport[]; rows: StoredCellularRow[] }

/**
 * Brings the tracks of devices to where they were before `receivedBeforeMs`, from what is stored: the last fixes and RF
 * rows, and all fixes of a dwell that was going on. A recovered track goes on as if it had never been forgotten. What is
 * read is bounded for each device, newest first: a device with much data costs the others nothing.
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
  // A dwell that went on afterwards has been written again since: it only says how far to look back.
  const lately = { fromMs: receivedBeforeMs - longestStayMs, toMs: recent.toMs }
  const stays = await newestOf(deviceIds, dwellsAlone, (ids, page) => readDwells(questdb, ids, lately, page))
  const [reports, rows] = await Promise.all([
    newestOf(deviceIds, fixesAlone, (ids, page) => readFixReports(questdb, ids, recent, page)),
    readNewestRows(questdb, deviceIds, recent),
  ])
  const whole = new Set<string>()
  for (const [deviceId, track] of tracks) {
    const stay = stays.get(deviceId)?.findLast((one) => !one.withdrawn && one.arrivedAtMs < recent.fromMs)
    const found = { stay, reports: reports.get(deviceId) ?? [], rows: rows.get(deviceId) ?? [] }
    const beforeMs = await fixesOfStay(questdb, deviceId, found, recent)
    try {
      if (recoverTrack(track, found, { recent, ofStay: beforeMs })) whole.add(deviceId)
    } catch (error) {
      onFailure(deviceId, error)
      Object.assign(track, createDeviceTrack(track.deviceClass, receivedBeforeMs))
    }
  }
  await findPasts(questdb, new Map([...tracks].filter(([deviceId]) => !whole.has(deviceId))), receivedBeforeMs)
}

/** Reads devices together, or each alone when they have more than fits, and returns each list in order of time. */
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

/** RF rows are large: those of devices with many are read for each alone. */
async function readNewestRows(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  recent: TrackQuery,
): Promise<Map<string, StoredCellularRow[]>> {
  const amounts = await countCellularRows(questdb, deviceIds, recent)
  const few: string[] = []
  const rows = new Map<string, StoredCellularRow[]>()
  for (const [deviceId, amount] of amounts) {
    if (amount.rows <= radioRowsAlone && amount.cellsCharacters <= cellsCharactersTogether) {
      few.push(deviceId)
      continue
    }
    const own = await readCellularRows(questdb, [deviceId], recent, { limit: radioRowsAlone, newestFirst: true })
    rows.set(deviceId, (own.get(deviceId) ?? []).reverse())
  }
  if (few.length === 0) return rows
  const limit = few.length * radioRowsAlone
  for (const [deviceId, own] of await readCellularRows(questdb, few, recent, { limit })) rows.set(deviceId, own)
  return rows
}

/** The fixes of a dwell that was going on, up to the recent ones; undefined when there is none or it has too many. */
async function fixesOfStay(
  questdb: QuestdbSql,
  deviceId: string,
  { stay, reports }: Found,
  recent: TrackQuery,
): Promise<StoredFixReport[] | undefined> {
  if (!stay || stay.lastInsideAtMs < recent.fromMs || reports.length >= fixesAlone) return undefined
  const store = openTrackStore(questdb, deviceId)
  const found: StoredFixReport[] = []
  for (let page = 0, fromMs = stay.arrivedAtMs; page < stayPages; page++) {
    const range = { fromMs, toMs: recent.fromMs - 1, receivedBeforeMs: recent.receivedBeforeMs }
    const fixes = await store.fixes(range, fixesAlone)
    for (const fix of fixes) found.push(fix)
    if (fixes.length < fixesAlone) return found
    fromMs = (fixes.at(-1)?.tsMs ?? fromMs) + 1
  }
  return undefined
}

/** Returns whether what came before is sure to have no part in where the device is. */
function recoverTrack(
  track: DeviceTrack,
  { reports, rows }: Found,
  { recent, ofStay }: { recent: TrackQuery; ofStay: StoredFixReport[] | undefined },
): boolean {
  const policy = dwellPolicies[track.deviceClass]
  const isCut = reports.length >= fixesAlone
  const startMs = ofStay ? ofStay[0]?.tsMs : oldestStartMs(reports, policy)
  const knownFromMs = startMs ?? (isCut ? reports[0]?.tsMs : undefined) ?? recent.fromMs
  // Rows from before a start stand where they belong: nothing that comes in order moves them.
  const before = startMs === undefined ? [] : rows.filter(({ tsMs }) => tsMs < startMs)
  const droppedUntilMs = before.at(-1)?.tsMs ?? 0
  track.alignment = createDeviceAlignment(policy, { ...initialAlignmentState, knownFromMs, droppedUntilMs })
  const known = ofStay ? [...ofStay, ...reports] : reports
  for (const report of known) noteOwner(track, report, [report])
  const step = track.alignment.apply(known, rows.slice(before.length))
  for (const range of step.dirty) markDirty(track, range)
  if (step.open) track.written = { arrivedAtMs: step.open.arrivedAtMs, lastInsideAtMs: step.open.lastInsideAtMs }
  return ofStay !== undefined || startMs !== undefined
}

/** The oldest fresh start among the reports: what came before it has nothing to do with the device's positions after. */
function oldestStartMs(reports: readonly FixReport[], policy: DwellPolicy): number | undefined {
  const search = createStartSearch(policy)
  let startMs: number | undefined
  for (const report of reports.toReversed()) startMs = search.take([report])?.rowsFromMs ?? startMs
  return startMs
}

/** Notes where devices were before what is in memory of them. */
export async function findPasts(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  receivedBeforeMs: number,
): Promise<void> {
  const find = async ([deviceId, track]: readonly [string, DeviceTrack]) => {
    const beforeMs = track.alignment.firstFix()?.firstReportMs ?? Number.POSITIVE_INFINITY
    track.past = await readLastPosition(questdb, deviceId, { beforeMs, receivedBeforeMs })
  }
  await Promise.all([...tracks].map(find))
}

/** Begins the tracks of devices that have not been heard of for long, and of new ones. */
export async function beginTracks(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  receivedBeforeMs: number,
): Promise<void> {
  await findPasts(questdb, tracks, receivedBeforeMs)
  for (const track of tracks.values()) {
    if (!track.past) continue
    // RF rows this close to a fix that is not in memory are aligned from what is stored.
    const initial = { ...initialAlignmentState, knownFromMs: track.past.tsMs + maxInterpolation.ms }
    track.alignment = createDeviceAlignment(dwellPolicies[track.deviceClass], initial)
  }
}
