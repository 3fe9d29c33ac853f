import { expect, test } from 'vitest'
import { type Kind, kinds } from '#telemetry/fields'
import type { DeviceState } from './device-state.ts'
import { advanceTrack, createDeviceTrack, markDirty } from './device-track.ts'
import { createRestingStates } from './resting-states.ts'
import { type SeenTimes, startSeenTimes } from './seen-samples.ts'

const startMs = Date.UTC(2026, 0, 1)
const minuteMs = 60_000

const newState = (usedAtMs = startMs): DeviceState => ({
  seen: Object.fromEntries(kinds.map((kind) => [kind, startSeenTimes(startMs, 0)])) as Record<Kind, SeenTimes>,
  track: createDeviceTrack('vehicle'),
  newestSystemMs: 0,
  usedAtMs,
})

/** The state of a device whose open dwell is behind its fixes, so that it must be settled when the device is quiet. */
function standing(): DeviceState {
  const state = newState(startMs + 6.5 * minuteMs)
  const origin = { deviceId: 'device', organizationId: 'owner', receivedAtMs: startMs }
  for (const minute of [0, 3, 6, 6.5]) {
    const tsMs = startMs + minute * minuteMs
    const fix = { tsMs, lat: 50, lon: 8, fixTs: null, accuracyM: 5, speedMps: null, headingDeg: null }
    advanceTrack(state.track, origin, [fix], [])
  }
  return state
}

test('a device gets its state back once', () => {
  const states = createRestingStates()
  for (let device = 0; device < 3_000; device++) states.put(`device-${device}`, newState(startMs + device), device)
  expect(states.size()).toBe(3_000)
  const taken = states.take('device-2999')
  expect(taken).toMatchObject({ packedAtMs: 2_999, state: { usedAtMs: startMs + 2_999, newestSystemMs: 0 } })
  expect(states.take('device-2999')).toBeUndefined()
  expect(states.take('device-3000')).toBeUndefined()
  expect(states.size()).toBe(2_999)
  states.put('device-2999', newState(), 5)
  expect(states.take('device-2999')).toMatchObject({ packedAtMs: 5, state: { usedAtMs: startMs } })
})

test('a state with rows to realign is not taken in', () => {
  const states = createRestingStates()
  const state = newState()
  markDirty(state.track, { fromMs: startMs, toMs: startMs })
  expect(states.put('device', state, 0)).toBe(false)
  expect(states.size()).toBe(0)
})

test('devices that must be settled take turns', () => {
  const states = createRestingStates()
  for (const deviceId of ['a', 'b', 'c']) states.put(deviceId, standing(), 0)
  states.put('moving', newState(), 0)
  const next = () => states.due(Number.MAX_SAFE_INTEGER).next().value
  expect(new Set([next(), next(), next()])).toEqual(new Set(['a', 'b', 'c']))
  expect([...states.due(startMs)]).toEqual([])
})

test('a state that was not used for long is removed', () => {
  const states = createRestingStates()
  states.put('old', newState(startMs), 0)
  states.put('new', newState(startMs + minuteMs), 0)
  states.evict(startMs + 1)
  expect(states.size()).toBe(1)
  expect(states.take('old')).toBeUndefined()
  states.put('other', newState(startMs + minuteMs), 0)
  expect([states.take('new'), states.take('other')]).not.toContain(undefined)
})
