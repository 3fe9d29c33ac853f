import type { QuestdbSql } from '#questdb/sql'
import { openTrackStore } from '#questdb/track-store'
import type { DeviceState } from './device-states.ts'
import { createDeviceTrack, type DeviceTrack } from './device-track.ts'
import { realignDevice } from './realign-device.ts'
import type { Realigned, Slices } from './realign-range.ts'

export type RealignTurn = {
  questdb: QuestdbSql
  /** Takes rows to be written; what it throws is the device's failure. */
  append: (realigned: Realigned) => void
  /** Sends rows when it is time. */
  flush: () => Promise<void>
  /** True when others wait for long enough. */
  isOver: () => boolean
  nowMs: () => number
  onFailure: (deviceId: string, error: unknown) => void
}

/** What one device may take of a turn while others wait for it. */
const deviceMs = 100
const maxFailures = 3

/**
 * Works on the dirty ranges of devices, each for a moment in turn, until all are done or the turn is over. What is not done
 * goes on where it stopped in the next turn. Returns whom it worked on last, and whether anything is left.
 */
export async function takeRealignTurn(
  dirty: readonly [string, DeviceState][],
  turn: RealignTurn,
): Promise<{ lastDeviceId: string | undefined; isLeftOver: boolean }> {
  let lastDeviceId: string | undefined
  const waiting = [...dirty]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [deviceId, state] = next
    if (!(await workOn(deviceId, state, turn))) waiting.push(next)
    lastDeviceId = deviceId
    if (turn.isOver()) break
  }
  return { lastDeviceId, isLeftOver: waiting.length > 0 }
}

async function workOn(deviceId: string, { track }: DeviceState, turn: RealignTurn): Promise<boolean> {
  const limitMs = performance.now() + deviceMs
  track.realigning ??= realignDevice({ store: openTrackStore(turn.questdb, deviceId), deviceId, track })
  for (;;) {
    const slice = await nextSlice(track.realigning, turn)
    if (slice !== 'slice') {
      track.realigning = undefined
      if (slice === 'done') track.realignFailures = 0
      else noteFailure(deviceId, track, turn, slice.error)
      return true
    }
    await turn.flush()
    if (performance.now() >= limitMs || turn.isOver()) return false
  }
}

async function nextSlice(slices: Slices<void>, turn: RealignTurn): Promise<'slice' | 'done' | { error: unknown }> {
  try {
    const slice = await slices.next()
    if (slice.done) return 'done'
    turn.append(slice.value)
    return 'slice'
  } catch (error) {
    // The writer ends: nobody's failure.
    if (error instanceof Error && error.name === 'AbortError') throw error
    await slices.return().catch(() => {})
    return { error }
  }
}

function noteFailure(deviceId: string, track: DeviceTrack, turn: RealignTurn, error: unknown): void {
  track.realignFailures += 1
  if (track.realignFailures < maxFailures) return
  // Its rows stay where they were written first, and the track begins anew.
  Object.assign(track, { dirty: [], realignFailures: 0 })
  track.alignment = createDeviceTrack(track.deviceClass, turn.nowMs()).alignment
  turn.onFailure(deviceId, error)
}
