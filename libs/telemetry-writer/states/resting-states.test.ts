import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { StatesReference } from '#telemetry-log/checkpoints/checkpoint'
import { advanceTrack, markDirty } from '#telemetry-writer/tracks/device-track'
import { createDeviceState, type DeviceState } from './device-state.ts'
import { packState } from './packed-states.ts'
import { createRestingStates } from './resting-states.ts'
import { startSeenTimes } from './seen-samples.ts'
import { openStateFile } from './state-file.ts'

const startMs = Date.UTC(2026, 0, 1)
const minuteMs = 60_000

function newState(usedAtMs = startMs): DeviceState {
  const state = createDeviceState()
  state.usedAtMs = usedAtMs
  for (const seen of Object.values(state.seen)) startSeenTimes(seen, startMs, 0)
  return state
}

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

const folder = mkdtempSync(join(tmpdir(), 'resting-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Opens the states that a process keeps in the folder, and a way to end it. */
function openKept(before: number, reference?: StatesReference) {
  const onGivenUp = (error: unknown) => {
    throw error
  }
  const file = openStateFile({ folder, reference, mayWrite: () => true, onGivenUp })
  const states = createRestingStates({ file, before })
  const end = () => {
    const flushed = file.flush()
    file.close()
    return flushed
  }
  return { states, file, end }
}

const plain = (state: DeviceState) => packState(state)?.bytes.toString('latin1')

test('the next process has the states whose reports it does not read again', () => {
  const first = openKept(0)
  first.states.put('included', { ...standing(), position: 100 }, 5)
  first.states.put('later', { ...newState(), position: 101 }, 5)
  first.states.put('taken', { ...newState(), position: 50 }, 5)
  const { state } = first.states.take('included') ?? {}
  first.states.put('included', { ...standing(), position: 100 }, 6)
  first.states.take('taken')

  const second = openKept(100, first.end())
  expect(['included', 'later', 'taken'].map(second.states.has)).toEqual([true, false, false])
  expect([...second.states.due(Number.MAX_SAFE_INTEGER)]).toEqual(['included'])
  const reference = second.end()

  // A state that was once not used is not used later.
  const third = openKept(200, reference)
  expect(third.states.size()).toBe(1)
  const taken = third.states.take('included')
  expect(taken?.packedAtMs).toBe(Number.NEGATIVE_INFINITY)
  expect(taken && state && plain(taken.state)).toEqual(state && plain(state))
  third.end()
})

test('outdated states leave the file after an hour', () => {
  const { states, file, end } = openKept(0)
  const hourMs = 60 * 60_000
  for (let device = 0; device < 10_000; device++) states.put(`device-${device}`, newState(startMs + device), 0)
  states.evict(startMs + 7_000)
  const before = file.flush()
  states.tidyFile(performance.now() + hourMs + 1_000)
  // Some of the states are in the new file, and others are not yet.
  expect(readdirSync(folder)).toHaveLength(2)
  states.put('device-7000', { ...newState(), position: 7 }, 0)
  states.take('device-7001')
  states.take('device-9999')
  for (let turn = 1; turn <= 3; turn++) states.tidyFile(performance.now() + 2 * hourMs + turn * 1_000)
  const after = end()
  expect(after?.name).not.toBe(before?.name)
  expect(after?.bytes).toBeLessThan((before?.bytes ?? 0) / 3)
  const next = openKept(10, after)
  expect(next.states.size()).toBe(2_998)
  expect(next.states.take('device-7000')?.state.position).toBe(7)
  expect(['device-7001', 'device-9999'].map(next.states.has)).toEqual([false, false])
  next.end()
})
