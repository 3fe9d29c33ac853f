import type { DeviceEvent } from '#fleet/devices/events'
import { cellularStates, newestSampleMs, reportHours, systemStates } from '#questdb/device/device-states'
import { clipRanges, type OwnedRange } from '#questdb/device/owned-rows'
import type { QuestdbSql } from '#questdb/server/sql'
import { type CellularState, type DeviceChange, handoversOf, systemChangesOf } from '#telemetry/position/device-changes'
import { maxModems } from '#telemetry/report/sources'

export const measuredKinds = ['reboot', 'handover', 'fault', 'report'] as const
export type MeasuredKind = (typeof measuredKinds)[number]

/** Events that telemetry shows. `afterMs`: older telemetry was not read; null if it was read to its beginning. */
export type MeasuredEvents = { events: DeviceEvent[]; afterMs: number | null }

const hourMs = 3_600_000
/** A slice of telemetry: at most these samples of each kind, and at most this time. */
const maxSamples = 5_000
const maxSliceMs = 7 * 24 * hourMs

/**
 * Reads one slice of a device's telemetry that ends with `untilMs`, and returns the events after `afterMs`. Every event
 * of an hour's reports has the time of the start of the hour.
 */
export async function measuredEvents(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  { untilMs, kinds }: { untilMs: number; kinds: ReadonlySet<MeasuredKind> },
): Promise<MeasuredEvents> {
  const startMs = Math.min(...ranges.map(({ fromMs }) => fromMs))
  if (kinds.size === 0 || ranges.length === 0 || untilMs < startMs) return { events: [], afterMs: null }
  const sliceStartMs = Math.max(startMs, untilMs - maxSliceMs)
  const within = clipRanges(ranges, sliceStartMs, untilMs + 1)
  const before = clipRanges(ranges, startMs, sliceStartMs)
  const [cellular, system, olderMs] = await Promise.all([
    kinds.has('handover') ? readCellular(questdb, deviceId, ranges, within, before) : nothing,
    kinds.has('reboot') || kinds.has('fault') ? readSlice(systemStates, questdb, deviceId, within, before) : nothing,
    kinds.has('report') ? newestSampleMs(questdb, deviceId, before) : null,
  ])
  // Between the slice and the newest older sample, nothing was measured.
  const ends = [cellular.afterMs, system.afterMs, olderMs].filter((ms) => ms !== null)
  const afterMs = ends.length === 0 ? null : Math.max(...ends)
  const toMs = (Math.floor(untilMs / hourMs) + 1) * hourMs
  const hours = kinds.has('report')
    ? await reportHours(questdb, deviceId, ranges, { fromMs: afterMs ?? startMs, toMs })
    : new Map()
  const changes = [...handoversOf(cellular.states), ...systemChangesOf(system.states)]
  const events = [
    ...changes.filter(({ kind }) => kinds.has(kind)).map(changeEvent),
    ...[...hours.values()].map(reportEvent),
  ]
  return { events: events.filter(({ atMs }) => atMs <= untilMs && (afterMs === null || atMs > afterMs)), afterMs }
}

type Slice<State> = { states: State[]; afterMs: number | null }
type ReadStates<State> = (
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  limit: number,
) => Promise<{ states: State[]; isCut: boolean }>

/**
 * The states of a slice, oldest first. The oldest one only shows the state before the next one, and the next slice ends with
 * it: `afterMs` is its time, or null if the slice has no older state.
 */
async function readSlice<State extends { tsMs: number }>(
  read: ReadStates<State>,
  questdb: QuestdbSql,
  deviceId: string,
  within: readonly OwnedRange[],
  before: readonly OwnedRange[],
): Promise<Slice<State>> {
  const { states, isCut } = await read(questdb, deviceId, within, maxSamples)
  if (isCut) return { states, afterMs: states[0]?.tsMs ?? null }
  const older = await read(questdb, deviceId, before, 1)
  return { states: [...older.states, ...states], afterMs: older.states[0]?.tsMs ?? null }
}

/** The cellular states of a slice, with the state of each of its modems where the slice ends. */
async function readCellular(
  questdb: QuestdbSql,
  deviceId: string,
  ranges: readonly OwnedRange[],
  within: readonly OwnedRange[],
  before: readonly OwnedRange[],
): Promise<Slice<CellularState>> {
  const { states, afterMs } = await readSlice(cellularStates, questdb, deviceId, within, before)
  if (afterMs === null) return { states, afterMs }
  const known = new Set(states.filter(({ tsMs }) => tsMs <= afterMs).map(({ modem }) => modem))
  const unknown = new Set(states.map(({ modem }) => modem).filter((modem) => !known.has(modem)))
  const untilEnd = clipRanges(ranges, 0, afterMs + 1)
  const older = await Promise.all(
    [...unknown].slice(0, maxModems).map((modem) => cellularStates(questdb, deviceId, untilEnd, 1, modem)),
  )
  return { states: [...older.flatMap((newest) => newest.states), ...states], afterMs }
}

const nothing = { states: [], afterMs: null }

const changeEvent = ({ tsMs, kind, action, modem, detail }: DeviceChange): DeviceEvent => ({
  id: modem === null ? `${kind}:${action}` : `${kind}:${action}:${modem}`,
  atMs: tsMs,
  kind,
  action,
  by: null,
  detail: modem === null ? detail : { modem, ...detail },
})

type Hour = { hourMs: number; samples: number; firstMs: number; lastMs: number }

const reportEvent = ({ hourMs: atMs, samples, firstMs, lastMs }: Hour): DeviceEvent => ({
  id: 'report',
  atMs,
  kind: 'report',
  action: 'reported',
  by: null,
  detail: { samples, from: new Date(firstMs).toISOString(), to: new Date(lastMs).toISOString() },
})
