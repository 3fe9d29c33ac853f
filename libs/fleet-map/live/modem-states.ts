import { type Buckets, createBuckets } from '#fleet-map/live/buckets'
import type { SignalRow } from '#questdb/fleet/fleet-gps'
import { maxModems } from '#telemetry/report/sources'
import { activeModem, connectedWithinMs, type ModemReports } from '#telemetry/rows/active-modem'

/** What the map knows of one modem of a device. `signal`: its newest; null if it has reported connections only. */
type ModemState = ModemReports & { signal: SignalRow | null }

/** The modems of devices that name them, by ordinal. The signal of a device is that of its active modem. */
export type ModemStates = {
  has(ordinal: number): boolean
  /** Takes the newest signal of a modem. Returns whether anything differs. */
  measure(ordinal: number, signal: SignalRow): boolean
  /** Takes the time at which a modem was connected. Returns whether anything differs. */
  connect(ordinal: number, modem: string | null, tsMs: number): boolean
  /** Takes the time at which a modem had service. Returns whether anything differs. */
  serve(ordinal: number, modem: string | null, tsMs: number): boolean
  /** Forgets connections that are too old for an active modem. Returns the devices that have none any more. */
  expire(nowMs: number): number[]
  /** The signal of the active modem, else one that does not say of which modem it is, as `latest` does; else null. */
  activeSignal(ordinal: number): SignalRow | null
  /** The signals of the modems, by name. */
  signals(ordinal: number): { isActive: boolean; signal: SignalRow }[]
  remove(ordinal: number): void
}

export function createModemStates(): ModemStates {
  const states = new Map<number, ModemState[]>()
  const recent = createRecentConnections()

  function stateOf(ordinal: number, modem: string | null): ModemState {
    const known = states.get(ordinal) ?? []
    states.set(ordinal, known)
    let state = known.find((each) => each.modem === modem)
    if (!state) {
      state = { modem, connectedMs: null, servedMs: null, newestMs: 0, signal: null }
      known.sort((a, b) => b.newestMs - a.newestMs)
      known.length = Math.min(known.length, maxModems - 1)
      known.push(state)
    }
    return state
  }

  /** The time of the device's newest report stands for the present. `expire` ends the connections of a device that is silent. */
  const activeOf = (known: readonly ModemState[]): ModemState | undefined => {
    const nowMs = known.reduce((newest, { newestMs }) => Math.max(newest, newestMs), 0)
    return activeModem(known, nowMs)
  }

  return {
    has: (ordinal) => states.has(ordinal),
    measure(ordinal, signal) {
      const state = stateOf(ordinal, signal.modem)
      if ((state.signal?.tsMs ?? Number.NEGATIVE_INFINITY) > signal.tsMs) return false
      if (state.signal && isSame(state.signal, signal)) return false
      state.signal = signal
      state.newestMs = Math.max(state.newestMs, signal.tsMs)
      if (signal.rat !== 'none') state.servedMs = Math.max(state.servedMs ?? 0, signal.tsMs)
      return true
    },
    connect(ordinal, modem, tsMs) {
      if (recent.isOver(tsMs) || !takeTime(stateOf(ordinal, modem), 'connectedMs', tsMs)) return false
      recent.place(ordinal, Math.max(...(states.get(ordinal) ?? []).map(({ connectedMs }) => connectedMs ?? 0)))
      return true
    },
    serve: (ordinal, modem, tsMs) => takeTime(stateOf(ordinal, modem), 'servedMs', tsMs),
    expire(nowMs) {
      const ended = recent.expire(nowMs)
      for (const state of ended.flatMap((ordinal) => states.get(ordinal) ?? [])) state.connectedMs = null
      return ended
    },
    activeSignal(ordinal) {
      const known = states.get(ordinal) ?? []
      return activeOf(known)?.signal ?? unnamed(known)?.signal ?? null
    },
    signals(ordinal) {
      const known = states.get(ordinal) ?? []
      const active = activeOf(known)
      return known
        .flatMap((state) => (state.signal ? [{ isActive: state === active, signal: state.signal }] : []))
        .sort((a, b) => ((a.signal.modem ?? '') < (b.signal.modem ?? '') ? -1 : 1))
    },
    remove(ordinal) {
      states.delete(ordinal)
      recent.remove(ordinal)
    },
  }
}

const unnamed = (known: readonly ModemState[]) => known.find(({ modem }) => modem === null)

/** Takes a time of a modem if it is the newest. Returns whether it is. */
function takeTime(state: ModemState, name: 'connectedMs' | 'servedMs', tsMs: number): boolean {
  if ((state[name] ?? Number.NEGATIVE_INFINITY) >= tsMs) return false
  state[name] = tsMs
  state.newestMs = Math.max(state.newestMs, tsMs)
  return true
}

/** Devices by the minute of their newest connection, so that those whose connection gets too old are found without a search. */
function createRecentConnections() {
  // Most maps have no modems with names.
  let devices: Buckets | undefined
  let oldestMinute = Number.POSITIVE_INFINITY
  /** Connections from before this minute are over. */
  let firstMinute = 0
  return {
    isOver: (tsMs: number): boolean => minuteOf(tsMs) < firstMinute,
    place(ordinal: number, tsMs: number): void {
      devices ??= createBuckets()
      devices.place(ordinal, minuteOf(tsMs))
      oldestMinute = Math.min(oldestMinute, minuteOf(tsMs))
    },
    /** Removes the devices whose connections are over at `nowMs`, and returns them. */
    expire(nowMs: number): number[] {
      firstMinute = minuteOf(nowMs - connectedWithinMs)
      const ended: number[] = []
      for (; oldestMinute < firstMinute; oldestMinute++)
        devices?.forEach(oldestMinute, (ordinal) => ended.push(ordinal))
      for (const ordinal of ended) devices?.remove(ordinal)
      return ended
    },
    remove: (ordinal: number): void => devices?.remove(ordinal),
  }
}

const minuteOf = (ms: number): number => Math.max(0, Math.floor(ms / 60_000))

const isSame = (a: SignalRow, b: SignalRow): boolean =>
  (Object.keys(a) as (keyof SignalRow)[]).every((name) => a[name] === b[name])
