import { readCellularRows, readDwells, readFixReports, readLastPosition } from '#questdb/device-tracks'
import type { QuestdbSql } from '#questdb/sql'
import { distinctFixes, type FixReport } from '#telemetry/distinct-fixes'
import { type DwellPolicy, dwellPolicies, isFreshStart } from '#telemetry/dwell'
import { type DeviceTrack, markDirty, noteOwner } from './device-track.ts'

/** Interpolation and the rows that may still change never reach further back than this. */
const lookBackMs = 20 * 60_000
/** A stay that began earlier is looked for when the track is worked through again. */
const longestStayMs = 24 * 60 * 60_000
const maxRows = 200_000

/** What so many devices report in the time that is looked back on fits into one answer, a few times a second each. */
const readTogether = 50

/**
 * Brings the tracks of devices to where they were before `receivedBeforeMs`, from what is stored: the last fixes and RF
 * rows, and all fixes of a stay that was going on. A recovered track goes on as if it had never been forgotten.
 */
export async function recoverTracks(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  receivedBeforeMs: number,
): Promise<void> {
  const all = [...tracks]
  for (let start = 0; start < all.length; start += readTogether) {
    await recoverSome(questdb, new Map(all.slice(start, start + readTogether)), receivedBeforeMs)
  }
}

async function recoverSome(
  questdb: QuestdbSql,
  tracks: ReadonlyMap<string, DeviceTrack>,
  receivedBeforeMs: number,
): Promise<void> {
  const deviceIds = [...tracks.keys()]
  const recent = { fromMs: receivedBeforeMs - lookBackMs, toMs: Number.POSITIVE_INFINITY, receivedBeforeMs }
  // A stay that went on afterwards has been written again since: it only says how far to look back.
  const lately = { fromMs: receivedBeforeMs - longestStayMs, toMs: recent.toMs }
  const stays = await readDwells(questdb, deviceIds, lately)
  const [reports, rows] = await Promise.all([
    readFixReports(questdb, deviceIds, recent, maxRows),
    readCellularRows(questdb, deviceIds, recent, maxRows),
  ])
  const whole = new Set<string>()
  for (const [deviceId, track] of tracks) {
    const stay = stays.get(deviceId)?.findLast((one) => !one.withdrawn && one.arrivedAtMs < recent.fromMs)
    let known = reports.get(deviceId) ?? []
    if (stay && stay.lastInsideAtMs >= recent.fromMs) {
      const sinceArrival = { ...recent, fromMs: stay.arrivedAtMs }
      known = (await readFixReports(questdb, [deviceId], sinceArrival, maxRows)).get(deviceId) ?? known
      whole.add(deviceId)
    } else if (hasMoved(known, dwellPolicies[track.deviceClass])) whole.add(deviceId)
    for (const report of known) noteOwner(track, report, [report])
    const step = track.alignment.apply(known, rows.get(deviceId) ?? [])
    for (const range of step.dirty) markDirty(track, range)
    if (step.open) track.written = { arrivedAtMs: step.open.arrivedAtMs, lastInsideAtMs: step.open.lastInsideAtMs }
  }
  await findPasts(questdb, new Map([...tracks].filter(([deviceId]) => !whole.has(deviceId))), receivedBeforeMs)
}

/** Whatever came before has nothing to do with where the device was in the end. */
const hasMoved = (reports: readonly FixReport[], policy: DwellPolicy): boolean =>
  distinctFixes(reports).some((fix, index, fixes) => {
    const previous = fixes[index - 1]
    return previous !== undefined && isFreshStart(previous, fix, policy)
  })

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
