import type { OrganizationMap } from '#fleet-map/live/organization-map'
import { completedWithinMs, completeSample } from '#questdb/device/completed'
import type { TelemetryRecord } from '#questdb/device/records'
import { type DeviceRow, type FleetRange, fleetSignals, type SignalRow } from '#questdb/fleet/fleet-gps'
import { devicesWithValue, type RadioField, type RadioSample, radioSamples } from '#questdb/fleet/radio-samples'
import type { QuestdbSql } from '#questdb/server/sql'

type Signal = DeviceRow<SignalRow>

/** Most routers report these with each sample. */
const usual = ['rat', 'plmn', 'rsrpDbm', 'rsrqDb', 'sinrDb'] as const
/** Many routers never report these. */
const rare = ['operatorName', 'nrRsrpDbm'] as const
const completable = [...usual, ...rare] as const

/**
 * The newest signal of each modem of every device in the range. Fields that it lacks are those of its samples up to two minutes
 * older.
 */
export async function completedSignals(
  questdb: QuestdbSql,
  map: OrganizationMap,
  range: FleetRange,
): Promise<Signal[]> {
  const signals = await fleetSignals(questdb, map.organizationId, range)
  const found = await withoutNeedless(questdb, map, lacking(signals, map))
  for (const part of partsOf(found, maxPerPart)) {
    const deviceIds = [...new Set(part.map(({ deviceId }) => deviceId))]
    const samples = Map.groupBy(await radioSamples(questdb, map.organizationId, deviceIds, spanOf(part)), sourceOf)
    for (const signal of part) {
      const ownedFromMs = map.device(signal.deviceId)?.entry.ownedFromMs ?? 0
      const own = samples.get(sourceOf({ ...signal, ...signal.state })) ?? []
      complete(
        signal.state,
        own.filter(({ tsMs }) => tsMs >= ownedFromMs),
      )
    }
  }
  return signals
}

/**
 * The signals without those of which the map knows nothing and which lack only values that no sample of the device has. After a
 * start, the samples of a whole fleet would be read for values that its routers never report.
 */
async function withoutNeedless(
  questdb: QuestdbSql,
  map: OrganizationMap,
  signals: readonly Signal[],
): Promise<Signal[]> {
  const onlyRare = signals.filter(
    (signal) => !knownOf(map, signal) && usual.every((name) => signal.state[name] !== null),
  )
  const needless = new Set(onlyRare)
  for (const part of partsOf(onlyRare, maxLacking)) {
    const fields: RadioField[] = rare.filter((name) => part.some(({ state }) => state[name] === null))
    const reporting = await devicesWithValue(questdb, map.organizationId, fields, spanOf(part))
    for (const signal of part) if (reporting.has(signal.deviceId)) needless.delete(signal)
  }
  return signals.filter((signal) => !needless.has(signal))
}

/** From when to when the samples that complete these signals, newest first, were measured. */
const spanOf = (signals: readonly Signal[]): { fromMs: number; toMs: number } => ({
  fromMs: (signals.at(-1)?.state.tsMs ?? 0) - completedWithinMs,
  toMs: (signals[0]?.state.tsMs ?? 0) + 1,
})

const sourceOf = ({ deviceId, modem }: { deviceId: string; modem: string | null }) => `${deviceId} ${modem ?? ''}`

const maxLacking = 2_000
const maxParts = 16
const maxPerPart = 500
const maxSpanMs = 600_000

/** The signals that lack a field which earlier samples may have, newest first; at most 2,000, first those of which one had it. */
function lacking(signals: readonly Signal[], map: OrganizationMap): Signal[] {
  const found = signals.flatMap((signal) => {
    const { state } = signal
    if (completable.every((name) => state[name] !== null)) return []
    const known = knownOf(map, signal)
    if (known && isCompleted(state, known)) {
      takeKnown(state, known)
      return []
    }
    const hadIt = completable.some((name) => state[name] === null && known?.[name] != null)
    const lacksUsual = state.rat !== 'none' && (known ? usual : completable).some((name) => state[name] === null)
    return hadIt || lacksUsual ? [{ signal, hadIt }] : []
  })
  return found
    .sort((a, b) => Number(b.hadIt) - Number(a.hadIt) || b.signal.state.tsMs - a.signal.state.tsMs)
    .slice(0, maxLacking)
    .map(({ signal }) => signal)
    .sort((a, b) => b.state.tsMs - a.state.tsMs)
}

/** The signal of the same modem that the map has. */
const knownOf = (map: OrganizationMap, { deviceId, state }: Signal): SignalRow | undefined =>
  map.device(deviceId)?.modems.find((modem) => modem.signal.modem === state.modem)?.signal

/** Whether the map has the same sample already. */
const isCompleted = (state: SignalRow, known: SignalRow): boolean =>
  known.tsMs === state.tsMs &&
  (['rat', 'plmn'] as const).every((name) => state[name] === null || state[name] === known[name])

function takeKnown(state: SignalRow, known: SignalRow): void {
  for (const name of completable) if (state[name] === null) Object.assign(state, { [name]: known[name] })
  const { quality, qualityBasis, completedFromMs } = known
  Object.assign(state, { quality, qualityBasis, completedFromMs })
}

/** Signals of about the same time, so that few other samples are read. */
function partsOf(newestFirst: readonly Signal[], maxPerPart: number): Signal[][] {
  const parts: Signal[][] = []
  for (const signal of newestFirst) {
    const last = parts.at(-1)
    const fits = last && last.length < maxPerPart && (last[0]?.state.tsMs ?? 0) - signal.state.tsMs <= maxSpanMs
    if (fits) last.push(signal)
    else parts.push([signal])
  }
  return parts.slice(0, maxParts)
}

/** Takes what a signal lacks from the samples of its modem, newest first. */
function complete(state: SignalRow, samples: readonly RadioSample[]): void {
  const [newest, ...earlier] = samples.filter(({ tsMs }) => tsMs <= state.tsMs).map(storedSample)
  if (newest?.tsMs !== state.tsMs) return
  const { record } = completeSample(newest, earlier)
  for (const name of [...completable, 'quality', 'qualityBasis']) Object.assign(state, { [name]: record[name] })
  state.completedFromMs = typeof record.completedFrom === 'string' ? Date.parse(record.completedFrom) : null
}

const storedSample = ({ tsMs, modem, values }: RadioSample): { tsMs: number; record: TelemetryRecord } => ({
  tsMs,
  record: { ...values, modem, kind: 'cellular', ts: new Date(tsMs).toISOString() },
})
