import type { QuestdbSql } from '#questdb/server/sql'
import { openTrackStore } from '#questdb/writer/track-store'
import type { DeviceState } from '#telemetry-writer/states/device-state'
import {
  continueRealignment,
  type DeviceTrack,
  failRealignment,
  finishRealignment,
} from '#telemetry-writer/tracks/device-track'
import type { Realigned, Slices } from '#telemetry-writer/tracks/realign-range'
import { realignDevice } from './realign-device.ts'

export type RealignTurn = {
  questdb: QuestdbSql
  /** Takes rows to write. An error that it throws counts as a failure of the device. */
  append: (realigned: Realigned) => void
  /** Sends the taken rows if a flush is due. */
  flush: () => Promise<void>
  /** Returns true when the writer must continue with other work. */
  isOver: () => boolean
  /** Called when the realignment of a device has failed repeatedly and is given up. */
  onFailure: (deviceId: string, error: unknown) => void
}

/** The part of a turn that one device may take before the next device has its turn. */
const deviceMs = 100
const maxFailures = 3

/**
 * Realigns the dirty ranges of a device until they are done, its part of the turn has passed, or the turn is over. The next
 * call continues where this one stopped. Returns whether nothing is left, because it is done or was given up.
 */
export async function workOn(deviceId: string, { track }: DeviceState, turn: RealignTurn): Promise<boolean> {
  const limitMs = performance.now() + deviceMs
  const slices = continueRealignment(track, () =>
    realignDevice({ store: openTrackStore(turn.questdb, deviceId), deviceId, track }),
  )
  for (;;) {
    const slice = await nextSlice(slices, turn)
    if (slice !== 'slice') {
      if (slice === 'done') finishRealignment(track)
      else fail(deviceId, track, turn, slice.error)
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
    // The writer is stopping. This is not a failure of the device.
    if (error instanceof Error && error.name === 'AbortError') throw error
    await slices.return().catch(() => {})
    return { error }
  }
}

function fail(deviceId: string, track: DeviceTrack, turn: RealignTurn, error: unknown): void {
  if (failRealignment(track, maxFailures, Date.now())) turn.onFailure(deviceId, error)
}
