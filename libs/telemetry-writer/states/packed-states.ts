import { createValuePacker, type Packable } from '#core/packed-values'
import { continueTrack, type IdleTrack, idleTrack, settleDueMs } from '#telemetry-writer/tracks/device-track'
import type { DeviceState } from './device-state.ts'

/** The state of a device between two reports. */
type PackedState = {
  /** The values of the state, until the next call. They take about a tenth of the state's memory. */
  bytes: Buffer
  /** When the state has something to settle if no report arrives before. Infinity if never. */
  settleDueMs: number
}

export type StatePacker = {
  /** Returns undefined if the device has work that must stay in memory. */
  pack(state: DeviceState): PackedState | undefined
  /** Returns a state that continues where these bytes were packed. */
  unpack(bytes: Buffer): DeviceState
  /** The lists of names that packed states refer to, from number `from` on. */
  names(from: number): (readonly string[])[]
}

type IdleState = Omit<DeviceState, 'track'> & { track: IdleTrack }

/**
 * Packs the states of devices into bytes. Only the packer that packed a state can unpack it, or one that began with its lists of
 * names.
 */
export function createStatePacker(knownNames: readonly (readonly string[])[] = []): StatePacker {
  const packer = createValuePacker(knownNames)
  return {
    pack({ position, seen, track, newestSystemMs, usedAtMs }) {
      const idle = idleTrack(track)
      if (!idle) return undefined
      // A lookup is made again when it is needed.
      const times = mapValues(seen, (each) => ({ ...each, lookup: undefined }))
      const plain: IdleState = { position, seen: times, track: idle, newestSystemMs, usedAtMs }
      return { bytes: packer.pack(plain as unknown as Packable), settleDueMs: settleDueMs(track, usedAtMs) }
    },
    unpack(bytes) {
      const { track, ...rest } = packer.unpack(bytes) as unknown as IdleState
      return { ...rest, track: continueTrack(track) }
    },
    names: packer.names,
  }
}

const mapValues = <Name extends string, Value>(
  values: Record<Name, Value>,
  change: (value: Value) => Value,
): Record<Name, Value> =>
  Object.fromEntries(Object.entries<Value>(values).map(([name, value]) => [name, change(value)])) as Record<Name, Value>
