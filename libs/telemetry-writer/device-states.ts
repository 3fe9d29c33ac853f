import { readNewestTimes } from '#questdb/device-times'
import type { QuestdbSql } from '#questdb/sql'
import type { DeviceClass } from '#telemetry/dwell'
import { type Kind, kinds } from '#telemetry/fields'
import { askForPast, createDeviceTrack, type DeviceTrack, inheritDirty, settleWhenQuiet } from './device-track.ts'
import { beginTracks, recoverTracks } from './recover-tracks.ts'
import { type SeenTimes, startSeenTimes } from './seen-samples.ts'

/** What the writer keeps in memory of one device; all of it can be read back from the database. */
export type DeviceState = {
  seen: Record<Kind, SeenTimes>
  track: DeviceTrack
  /** The newest system sample that was told to Postgres. */
  newestSystemMs: number
  usedAtMs: number
}

export type DeviceStates = {
  /** Makes the states of these devices available, from the database where they are not in memory. */
  load(devices: ReadonlyMap<string, DeviceClass>, receivedBeforeMs: number): Promise<void>
  /**
   * Forgets a device whose state a failure has left halfway and makes it anew from the database, where all it has seen
   * must be found.
   */
  renew(deviceId: string, deviceClass: DeviceClass): Promise<void>
  /** The state of a loaded device. */
  of(deviceId: string): DeviceState
  /** True when the device is loaded and has something to be aligned again. */
  hasWork(deviceId: string): boolean
  /** Devices whose tracks have something to be aligned again; looks at every device. */
  dirty(): [string, DeviceState][]
  /**
   * Makes at most so many devices dirty whose past is unknown, or that are quiet while their open stay lags behind its
   * fixes; looks at every device.
   */
  settle(nowMs: number, most: number): [string, DeviceState][]
  /** Forgets devices that have not been used for an hour and have nothing to be aligned again. */
  evict(nowMs: number): void
}

/** Further back than this nobody looks at a start: older samples are `unsure` and asked for one by one. */
const lookBackMs = 24 * 60 * 60 * 1_000
const idleMs = 60 * 60 * 1_000
const loadBatch = 500

/** States of all devices heard of lately. `onFailure` is told of devices whose tracks could not be recovered. */
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
    // Devices without a row in the last day have no track to go on with.
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
      // Reports of one device may be worked on in another order than they were received in.
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
