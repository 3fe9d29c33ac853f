import type { QuestdbSql } from '#questdb/server/sql'
import { readCellularRows, readFixReports, type StoredFixReport, type TrackQuery } from '#questdb/writer/device-tracks'
import { openTrackStore } from '#questdb/writer/track-store'
import { countCellularRows, countFixReports, readLastDwells } from '#questdb/writer/track-summaries'
import type { DwellPolicy, OpenDwellSummary } from '#telemetry/position/dwell'
import { undecidedFromMs } from '#telemetry/position/dwell-detector'
import type { RadioRow } from '#telemetry/rows/radio-row'
import { type StoredWithin, withinDwell } from '#telemetry-writer/tracks/within-dwell'
import { groupsOf, limitsAlone, limitsTogether, sharesOf, withSimilarTimes } from './recovery-shares.ts'

/**
 * Devices that are read together. Of open dwells that began before the recent data, `open` has those whose rows tell enough,
 * and `openSinceMs` the arrivals of the others.
 */
export type Share = {
  deviceIds: readonly string[]
  /** The recent fixes. Undefined if there are too many to read those of all devices together. */
  reports: ReadonlyMap<string, StoredFixReport[]> | undefined
  open: ReadonlyMap<string, OpenDwellSummary>
  openSinceMs: ReadonlyMap<string, number>
}

/** The stored data of a device, in order of time. */
export type StoredPast = {
  /** The newest recent fixes. */
  reports: StoredFixReport[]
  /** The newest recent RF rows that later data can move if it arrives in order. */
  rows: RadioRow[]
  /** The state that the row of the open dwell tells. Undefined if there is no such dwell or its row does not tell enough. */
  within: StoredWithin<StoredFixReport> | undefined
  /**
   * The fixes of the open dwell before the recent ones. Undefined if there is no such dwell, if `within` is known, or if there
   * are too many.
   */
  ofDwell: StoredFixReport[] | undefined
}

/** A dwell that began earlier is found when the track is rebuilt. */
const longestDwellMs = 24 * 60 * 60_000
/** The fixes of dwells are read from the first arrival of these devices, so few devices with similar arrivals. */
const readTogether = 64
/** RF rows are read from the first of the times of devices. They may differ by this. */
const similarWithinMs = 2 * 60_000
/** A dwell with more pages of fixes is rebuilt when its device is quiet. */
const dwellPages = 20

/** Divides at most `maxIds` devices into shares, by the amount of their data in the recent range. */
export async function planShares(
  questdb: QuestdbSql,
  deviceIds: readonly string[],
  recent: TrackQuery,
): Promise<Share[]> {
  // A dwell that continued later has been written again, so it only tells how far to look back.
  const lastDay = { fromMs: recent.fromMs - longestDwellMs, toMs: recent.fromMs - 1 }
  const [read, rows, dwells] = await Promise.all([
    readFixReports(questdb, deviceIds, recent, { limit: limitsTogether.fixes + 1 }),
    countCellularRows(questdb, deviceIds, recent),
    readLastDwells(questdb, deviceIds, lastDay),
  ])
  const amounts = new Map([...read].map(([deviceId, found]) => [deviceId, found.length]))
  const isRead = amounts.values().reduce((sum, amount) => sum + amount, 0) <= limitsTogether.fixes
  const reports = isRead ? read : undefined
  const fixes = isRead ? amounts : await countFixReports(questdb, deviceIds, recent)
  const open = new Map<string, OpenDwellSummary>()
  const openSinceMs = new Map<string, number>()
  for (const [deviceId, { arrivedAtMs, lastInsideAtMs, receivedAtMs, open: summary }] of dwells) {
    if (lastInsideAtMs < recent.fromMs) continue
    // The row of a dwell that was written later includes reports that are processed again.
    if (summary && receivedAtMs < (recent.receivedBeforeMs ?? Number.POSITIVE_INFINITY)) open.set(deviceId, summary)
    else openSinceMs.set(deviceId, arrivedAtMs)
  }
  const none = { rows: 0, cellsCharacters: 0 }
  const sharesWith = (ids: readonly string[], older: ReadonlyMap<string, number>): Share[] =>
    sharesOf(ids, (id) => ({ ...(rows.get(id) ?? none), fixes: (fixes.get(id) ?? 0) + (older.get(id) ?? 0) })).map(
      (share) => ({ deviceIds: share, reports, open, openSinceMs }),
    )
  const moving = deviceIds.filter((deviceId) => !openSinceMs.has(deviceId))
  const shares = sharesWith(moving, new Map())
  const standing = [...openSinceMs].sort(([, a], [, b]) => a - b)
  for (const group of groupsOf(standing, readTogether)) {
    const ids = group.map(([deviceId]) => deviceId)
    shares.push(...sharesWith(ids, await countFixReports(questdb, ids, dwellRange(ids, openSinceMs, recent))))
  }
  return shares
}

/** Reads the data of a share within limits, newest first. */
export async function readShare(
  questdb: QuestdbSql,
  share: Share,
  { recent, policyOf }: { recent: TrackQuery; policyOf: (deviceId: string) => DwellPolicy },
): Promise<Map<string, StoredPast>> {
  const { deviceIds, open, openSinceMs } = share
  const [deviceId] = deviceIds
  if (deviceIds.length === 1 && deviceId !== undefined) {
    const { rows, ...fixes } = await readAlone(questdb, deviceId, share, recent)
    const movableFromMs = movableFrom(fixes, policyOf(deviceId))
    return new Map([[deviceId, { ...fixes, rows: rows.filter(({ tsMs }) => tsMs >= movableFromMs) }]])
  }
  const standing = deviceIds.filter((id) => openSinceMs.has(id))
  // More than was counted, because rows may have arrived since.
  const fixesPage = { limit: 2 * limitsTogether.fixes }
  const [reports, ofDwells] = await Promise.all([
    share.reports ?? readFixReports(questdb, deviceIds, recent, fixesPage),
    standing.length === 0
      ? undefined
      : readFixReports(questdb, standing, dwellRange(standing, openSinceMs, recent), fixesPage),
  ])
  const found = await Promise.all(
    deviceIds.map(async (id) => {
      const ofDevice = reports.get(id) ?? []
      const sinceMs = openSinceMs.get(id)
      if (sinceMs === undefined)
        return { id, reports: ofDevice, ...(await readOpenDwell(questdb, id, open.get(id), ofDevice, recent)) }
      const ofDwell = (ofDwells?.get(id) ?? []).filter(({ tsMs }) => tsMs >= sinceMs)
      return { id, reports: ofDevice, within: undefined, ofDwell }
    }),
  )
  const movableFromMs = found.map(({ id, ...fixes }): [string, number] => [
    id,
    Math.max(movableFrom(fixes, policyOf(id)), recent.fromMs),
  ])
  const rows = await readMovableRows(questdb, movableFromMs, recent)
  return new Map(found.map(({ id, ...fixes }) => [id, { ...fixes, rows: rows.get(id) ?? [] }]))
}

/** Returns the time from which data in order can move RF rows of a device with these fixes. */
function movableFrom({ within, ofDwell, reports }: Omit<StoredPast, 'rows'>, policy: DwellPolicy): number {
  if (within) return undecidedFromMs(within.newer, policy, within)
  return undecidedFromMs(ofDwell ? [...ofDwell, ...reports] : reports, policy)
}

/**
 * Reads the RF rows of devices from a time on. The others have their final position, and a row has three times as many
 * columns as a fix.
 */
async function readMovableRows(
  questdb: QuestdbSql,
  movableFromMs: [deviceId: string, fromMs: number][],
  recent: TrackQuery,
): Promise<Map<string, RadioRow[]>> {
  const found = new Map<string, RadioRow[]>()
  for (const group of withSimilarTimes(movableFromMs, similarWithinMs)) {
    const range = { ...recent, fromMs: group[0]?.[1] ?? recent.fromMs }
    const ids = group.map(([deviceId]) => deviceId)
    // More than was counted, because rows may have arrived since.
    const rows = await readCellularRows(questdb, ids, range, { limit: 2 * limitsTogether.rows })
    for (const [deviceId, fromMs] of group) {
      const movable = rows.get(deviceId)?.filter(({ tsMs }) => tsMs >= fromMs)
      if (movable) found.set(deviceId, movable)
    }
  }
  return found
}

/** Returns the time from the first arrival of these devices to the recent data. */
function dwellRange(
  deviceIds: readonly string[],
  openSinceMs: ReadonlyMap<string, number>,
  recent: TrackQuery,
): TrackQuery {
  const fromMs = deviceIds.reduce((first, id) => Math.min(first, openSinceMs.get(id) ?? first), recent.fromMs)
  return { ...recent, fromMs, toMs: recent.fromMs - 1 }
}

async function readAlone(questdb: QuestdbSql, deviceId: string, share: Share, recent: TrackQuery): Promise<StoredPast> {
  const [reports, rows] = await Promise.all([
    readFixReports(questdb, [deviceId], recent, { limit: limitsAlone.fixes, newestFirst: true }),
    readCellularRows(questdb, [deviceId], recent, { limit: limitsAlone.rows, newestFirst: true }),
  ])
  const newest = (reports.get(deviceId) ?? []).reverse()
  const past = { reports: newest, rows: (rows.get(deviceId) ?? []).reverse() }
  if (newest.length >= limitsAlone.fixes) return { ...past, within: undefined, ofDwell: undefined }
  const sinceMs = share.openSinceMs.get(deviceId)
  if (sinceMs !== undefined)
    return { ...past, within: undefined, ofDwell: await fixesOfDwell(questdb, deviceId, sinceMs, recent) }
  return { ...past, ...(await readOpenDwell(questdb, deviceId, share.open.get(deviceId), newest, recent)) }
}

/** Returns what the row of an open dwell tells, or the fixes of the dwell. `reports`: the recent fixes. */
async function readOpenDwell(
  questdb: QuestdbSql,
  deviceId: string,
  open: OpenDwellSummary | undefined,
  reports: readonly StoredFixReport[],
  recent: TrackQuery,
): Promise<Pick<StoredPast, 'within' | 'ofDwell'>> {
  const within = open && withinDwell(open, reports)
  if (!open || within) return { within, ofDwell: undefined }
  return { within, ofDwell: await fixesOfDwell(questdb, deviceId, open.arrivedAtMs, recent) }
}

async function fixesOfDwell(
  questdb: QuestdbSql,
  deviceId: string,
  arrivedAtMs: number,
  recent: TrackQuery,
): Promise<StoredFixReport[] | undefined> {
  const store = openTrackStore(questdb, deviceId)
  const found: StoredFixReport[] = []
  for (let page = 0, fromMs = arrivedAtMs; page < dwellPages; page++) {
    const range = { ...recent, fromMs, toMs: recent.fromMs - 1 }
    const fixes = await store.fixes(range, limitsAlone.fixes)
    for (const fix of fixes) found.push(fix)
    if (fixes.length < limitsAlone.fixes) return found
    fromMs = (fixes.at(-1)?.tsMs ?? fromMs) + 1
  }
  return undefined
}
