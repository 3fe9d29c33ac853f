import type { QuestdbSql } from '#questdb/server/sql'
import { readNewestTimes } from '#questdb/writer/device-times'
import type { DeviceClass } from '#telemetry/position/dwell'
import { kinds } from '#telemetry/report/fields'
import type { LogPosition } from '#telemetry-log/log'
import { beginTracks, recoverTracks } from '#telemetry-writer/recovery/recover-tracks'
import {
  askForPast,
  type DeviceTrack,
  hasWork,
  inheritDirty,
  settleWhenQuiet,
} from '#telemetry-writer/tracks/device-track'
import { createDeviceState, type DeviceState } from './device-state.ts'
import { createRestingStates, type KeptStates } from './resting-states.ts'
import { startSeenTimes } from './seen-samples.ts'

/*
 * The life of a device's state:
 *
 *   QuestDB ──restored──▶ active ──packIdle──▶ idle ──state file──▶ on disk
 *      ▲                  ▲    ▲                │                      │
 *      │                  │    └──next report───┤                      │
 *      └─evict: an hour ──┼─────────────────────┘                      │
 *        without a report └──────────next process, first report────────┘
 *
 * Active: an object that reports change (`DeviceState`). Idle: the same numbers as bytes (`packed-states.ts`) in pages outside of the
 * heap (`resting-states.ts`). On disk: the list of all changes of idle states (`state-file.ts`). A state with rows to realign
 * stays active.
 */

export type DeviceStates = {
  /** The number of devices in memory: those that reported in the last hour. */
  size(): number
  /** True when the state of the device is in memory. */
  has(deviceId: string): boolean
  /** Loads the states of these devices; from the database if they are not in memory. */
  load(devices: ReadonlyMap<string, DeviceClass>, receivedBeforeMs: number): Promise<void>
  /**
   * Replaces the incomplete state of a device after a failure with a new state from the database, which must have all of
   * its rows.
   */
  renew(deviceId: string, deviceClass: DeviceClass): Promise<void>
  /** The state of a loaded device. */
  of(deviceId: string): DeviceState
  /** True when the device is loaded and has something to be aligned again. */
  hasWork(deviceId: string): boolean
  /** Devices whose tracks have rows to realign. Checks every device. */
  dirty(): [string, DeviceState][]
  /**
   * Marks at most this many devices for realignment: those with an unknown past, and quiet devices whose open dwell is
   * behind their fixes. Checks every device.
   */
  settle(nowMs: number, most: number): [string, DeviceState][]
  /**
   * Packs the states of devices that report rarely when they were not loaded since the last call but one, and others when they
   * were not loaded for 15 to 30 s, or sooner after many were read from the database. Packs some at each call. `monotonicMs`: the
   * time of the call. States that `of` has returned must not be used afterwards, unless they have something to realign.
   */
  packIdle(monotonicMs: number): void
  /** Removes devices that were not used for an hour and have nothing to realign, except those that were just loaded. */
  evict(nowMs: number): void
}

/** How far back a start searches. Older samples are `unsure` and looked up one by one. */
const lookBackMs = 24 * 60 * 60 * 1_000
const idleMs = 60 * 60 * 1_000
const loadBatch = 500
/**
 * A state that is not loaded for this time, or up to twice as long, is packed. Packing and unpacking take up to a third of the
 * time of a report, so devices that report more often stay unpacked. A state that was packed for longer is packed again at
 * once: a tenth of a million states of 7 KB, each replaced every few minutes, took more than half of the time of a writer for
 * garbage collection.
 */
const packAfterMs = 15_000
/** States of one call. It takes about 20 ms. */
const packBatch = 2_000
/**
 * After a restart, the states of the whole fleet are loaded within seconds, and most devices report only minutes later.
 * Unpacked, they would take 7 KB each, and garbage collection would copy them several times.
 */
const packAfterLoaded = 1_000

export type DeviceStatesParts = {
  questdb: QuestdbSql
  generation: () => number
  /** Every report that the database may have is before this position. */
  position: () => LogPosition
  /** Receives devices whose tracks could not be recovered. */
  onFailure: (deviceId: string, error: unknown) => void
  activity: { statesRestored: number }
  /** A file that keeps packed states for the next process. */
  kept?: KeptStates | undefined
}

/** States of recently active devices. A state is packed between two reports, because most devices report every few minutes. */
// Long because each part moves devices between the same maps of states.
export function createDeviceStates({
  questdb,
  generation,
  position,
  onFailure,
  activity,
  kept,
}: DeviceStatesParts): DeviceStates {
  /** States that were loaded since the last turn of `packIdle`. Each device is in one of the four maps, or in `packed`. */
  let states = new Map<string, DeviceState>()
  /** States that were not loaded since then and are packed next. */
  let idle = new Map<string, DeviceState>()
  /** States of devices that report rarely, which were loaded since the last call of `packIdle`. */
  let visiting = new Map<string, DeviceState>()
  /** Those that were loaded before it, and not since. */
  let leaving = new Map<string, DeviceState>()
  const packed = createRestingStates(kept)
  let turnedAtMs = Number.NEGATIVE_INFINITY
  let calledAtMs = Number.NEGATIVE_INFINITY
  let loadedSinceTurn = 0
  /** Many of the states in `idle` were read from the database, and wait for no other report. */
  let isRestored = false

  if (kept) packed.evict(Date.now() - idleMs)

  /**
   * Returns the state of a device in memory. Unpacks it if necessary. Discards the state of an earlier process if its class differs
   * from `deviceClass`: a restart applies a class that was changed.
   */
  function find(deviceId: string, deviceClass?: DeviceClass): DeviceState | undefined {
    const recent = states.get(deviceId) ?? visiting.get(deviceId)
    if (recent) return recent
    const resting = packed.take(deviceId)
    if (resting) {
      const { packedAtMs } = resting
      const isOfThisProcess = packedAtMs !== Number.NEGATIVE_INFINITY
      if (!isOfThisProcess && resting.state.track.deviceClass !== (deviceClass ?? resting.state.track.deviceClass))
        return undefined
      const { state } = resting
      // The database has the rows of an earlier process, whose generations had other numbers: it decides about all times so far.
      if (!isOfThisProcess)
        for (const seen of Object.values(state.seen)) startSeenTimes(seen, seen.newestMs, generation())
      const isFrequent = calledAtMs - packedAtMs < packAfterMs
      ;(isFrequent ? states : visiting).set(deviceId, state)
      return state
    }
    const state = idle.get(deviceId) ?? leaving.get(deviceId)
    // Realignment takes turns in the order of the maps, so devices with work keep their place.
    if (!state || hasWork(state.track)) return state
    if (leaving.delete(deviceId)) visiting.set(deviceId, state)
    else states.set(deviceId, state)
    idle.delete(deviceId)
    return state
  }
  /** Packs a state, unless it has work that must stay in memory. */
  function rest(deviceId: string, state: DeviceState, packedAtMs: number): void {
    if (!packed.put(deviceId, state, packedAtMs)) states.set(deviceId, state)
  }
  const unpacked = function* (): Generator<[string, DeviceState]> {
    yield* idle
    yield* states
    yield* leaving
    yield* visiting
  }

  async function loadSome(
    devices: readonly (readonly [string, DeviceClass])[],
    receivedBeforeMs: number,
  ): Promise<void> {
    const deviceIds = devices.map(([deviceId]) => deviceId)
    loadedSinceTurn += devices.length
    const tracks = new Map<string, DeviceTrack>()
    const sinceMs = receivedBeforeMs - lookBackMs
    for (const [deviceId, deviceClass] of devices) {
      const state = createDeviceState(deviceClass)
      state.position = position()
      state.usedAtMs = receivedBeforeMs
      for (const kind of kinds) startSeenTimes(state.seen[kind], sinceMs, generation())
      states.set(deviceId, state)
      tracks.set(deviceId, state.track)
    }
    const newest = await readNewestTimes(questdb, deviceIds, { sinceMs, receivedBeforeMs })
    for (const { deviceId, kind, tsMs } of newest) {
      const state = states.get(deviceId)
      if (state) startSeenTimes(state.seen[kind], tsMs, generation())
    }
    // A device without a row in the last day has no track to continue.
    const known = new Set(newest.map(({ deviceId }) => deviceId))
    const [silent, heardOf] = [new Map(tracks), new Map(tracks)]
    for (const deviceId of deviceIds) (known.has(deviceId) ? silent : heardOf).delete(deviceId)
    await recoverTracks(questdb, heardOf, { receivedBeforeMs, onFailure })
    await beginTracks(questdb, silent, receivedBeforeMs)
    activity.statesRestored += devices.length
  }

  return {
    size: () => states.size + idle.size + visiting.size + leaving.size + packed.size(),
    has: (deviceId) =>
      packed.has(deviceId) ||
      states.has(deviceId) ||
      visiting.has(deviceId) ||
      leaving.has(deviceId) ||
      idle.has(deviceId),
    async load(devices, receivedBeforeMs) {
      const missing = [...devices].filter(([deviceId, deviceClass]) => !find(deviceId, deviceClass))
      for (let start = 0; start < missing.length; start += loadBatch) {
        const batch = missing.slice(start, start + loadBatch)
        try {
          await loadSome(batch, receivedBeforeMs)
        } catch (error) {
          for (const [deviceId] of batch) states.delete(deviceId)
          throw error
        }
      }
    },
    async renew(deviceId, deviceClass) {
      const state = find(deviceId)
      for (const each of [states, idle, visiting, leaving]) each.delete(deviceId)
      // Reports of a device may be processed in another order than they were received.
      const receivedBeforeMs = (state?.usedAtMs ?? Date.now()) + 1
      await loadSome([[deviceId, deviceClass]], receivedBeforeMs)
      const [before, after] = [state?.track, states.get(deviceId)?.track]
      if (before && after) inheritDirty(after, before, receivedBeforeMs)
    },
    of(deviceId) {
      const state = find(deviceId)
      if (!state) throw new Error('The state of a device is used before it was loaded.')
      return state
    },
    hasWork(deviceId) {
      const state = states.get(deviceId) ?? idle.get(deviceId) ?? visiting.get(deviceId) ?? leaving.get(deviceId)
      return state !== undefined && hasWork(state.track)
    },
    dirty() {
      const dirty: [string, DeviceState][] = []
      for (const [deviceId, state] of unpacked()) if (hasWork(state.track)) dirty.push([deviceId, state])
      return dirty
    },
    settle(nowMs, most) {
      const settling: [string, DeviceState][] = []
      const settle = (deviceId: string, state: DeviceState) => {
        if (askForPast(state.track) || settleWhenQuiet(state.track, state.usedAtMs, nowMs))
          settling.push([deviceId, state])
      }
      for (const [deviceId, state] of unpacked()) {
        if (settling.length >= most) return settling
        settle(deviceId, state)
      }
      if (settling.length >= most) return settling
      for (const deviceId of packed.due(nowMs)) {
        const state = find(deviceId)
        if (state) settle(deviceId, state)
        if (settling.length >= most) break
      }
      return settling
    },
    packIdle(monotonicMs) {
      calledAtMs = monotonicMs
      packed.tidyFile(monotonicMs)
      for (const [deviceId, state] of leaving) rest(deviceId, state, monotonicMs)
      leaving = visiting
      visiting = new Map()
      const isTurn = monotonicMs - turnedAtMs >= packAfterMs || loadedSinceTurn >= packAfterLoaded
      if (!isTurn && !isRestored) return
      let left = packBatch
      for (const [deviceId, state] of idle) {
        if (left-- === 0) return
        idle.delete(deviceId)
        rest(deviceId, state, monotonicMs)
      }
      isRestored = loadedSinceTurn >= packAfterLoaded
      if (!isTurn) return
      turnedAtMs = monotonicMs
      loadedSinceTurn = 0
      idle = states
      states = new Map()
    },
    evict(nowMs) {
      packed.evict(nowMs - idleMs)
      for (const [deviceId, { track, usedAtMs }] of idle)
        if (nowMs - usedAtMs > idleMs && !hasWork(track)) idle.delete(deviceId)
    },
  }
}
