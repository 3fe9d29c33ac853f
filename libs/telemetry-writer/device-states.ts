import { readNewestTimes } from '#questdb/device-times'
import type { QuestdbSql } from '#questdb/sql'
import type { DeviceClass } from '#telemetry/dwell'
import { type Kind, kinds } from '#telemetry/fields'
import { askForPast, createDeviceTrack, type DeviceTrack, inheritDirty, settleWhenQuiet } from './device-track.ts'
import { beginTracks, recoverTracks } from './recover-tracks.ts'
import { type SeenTimes, startSeenTimes } from './seen-samples.ts'

/** The state of a device in memory. It can be restored from the database. */
export type DeviceState = {
  seen: Record<Kind, SeenTimes>
  track: DeviceTrack
  /** The newest system sample that was reported to Postgres. */
  newestSystemMs: number
  usedAtMs: number
}

export type DeviceStates = {
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
  /** Removes devices that were not used for an hour and have nothing to realign. */
  evict(nowMs: number): void
}

/** How far back a start searches. Older samples are `unsure` and looked up one by one. */
const lookBackMs = 24 * 60 * 60 * 1_000
const idleMs = 60 * 60 * 1_000
const loadBatch = 500

/** States of recently active devices. `onFailure` receives devices whose tracks could not be recovered. */
export function createDeviceStates(
  questdb: QuestdbSql,
  generation: () => number,
  onFailure: (deviceId: string, error: unknown) => void,
): DeviceStates {
  const states = new Map<string, DeviceState>()

  async function loadSome(
    devices: readonly (readonly [string, DeviceClass])[],
    receivedBeforeMs: number,
  ): Promise<void> {
    const deviceIds = devices.map(([deviceId]) => deviceId)
    const tracks = new Map(devices.map(([deviceId, deviceClass]) => [deviceId, createDeviceTrack(deviceClass)]))
    const sinceMs = receivedBeforeMs - lookBackMs
    for (const [deviceId, track] of tracks) {
      const seen = kinds.map((kind) => [kind, startSeenTimes(sinceMs, generation())] as const)
      states.set(deviceId, {
        seen: Object.fromEntries(seen) as Record<Kind, SeenTimes>,
        track,
        newestSystemMs: 0,
        usedAtMs: receivedBeforeMs,
      })
    }
    const newest = await readNewestTimes(questdb, deviceIds, { sinceMs, receivedBeforeMs })
    for (const { deviceId, kind, tsMs } of newest) {
      const state = states.get(deviceId)
      if (state) state.seen[kind] = startSeenTimes(tsMs, generation())
    }
    // A device without a row in the last day has no track to continue.
    const known = new Set(newest.map(({ deviceId }) => deviceId))
    const [silent, heardOf] = [new Map(tracks), new Map(tracks)]
    for (const deviceId of deviceIds) (known.has(deviceId) ? silent : heardOf).delete(deviceId)
    await recoverTracks(questdb, heardOf, { receivedBeforeMs, onFailure })
    await beginTracks(questdb, silent, receivedBeforeMs)
  }

  return {
    async load(devices, receivedBeforeMs) {
      const missing = [...devices].filter(([deviceId]) => !states.has(deviceId))
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
      const state = states.get(deviceId)
      states.delete(deviceId)
      // Reports of a device may be processed in another order than they were received.
      const receivedBeforeMs = (state?.usedAtMs ?? Date.now()) + 1
      await loadSome([[deviceId, deviceClass]], receivedBeforeMs)
      const [before, after] = [state?.track, states.get(deviceId)?.track]
      if (before && after) inheritDirty(after, before, receivedBeforeMs)
    },
    of(deviceId) {
      const state = states.get(deviceId)
      if (!state) throw new Error('The state of a device is used before it was loaded.')
      return state
    },
    hasWork(deviceId) {
      const state = states.get(deviceId)
      return state !== undefined && hasWork(state.track)
    },
    dirty() {
      const dirty: [string, DeviceState][] = []
      for (const [deviceId, state] of states) if (hasWork(state.track)) dirty.push([deviceId, state])
      return dirty
    },
    settle(nowMs, most) {
      const settling: [string, DeviceState][] = []
      for (const [deviceId, state] of states) {
        if (settling.length >= most) break
        if (askForPast(state.track) || settleWhenQuiet(state.track, state.usedAtMs, nowMs))
          settling.push([deviceId, state])
      }
      return settling
    },
    evict(nowMs) {
      for (const [deviceId, { track, usedAtMs }] of states)
        if (nowMs - usedAtMs > idleMs && !hasWork(track)) states.delete(deviceId)
    },
  }
}

const hasWork = ({ dirty, realigning }: DeviceTrack): boolean => dirty.length > 0 || realigning !== undefined
