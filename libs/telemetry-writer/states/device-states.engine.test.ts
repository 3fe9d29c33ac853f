import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import type { StatesReference } from '#telemetry-log/checkpoints/checkpoint'
import { advanceTrack, markDirty, setPast, takeDirty } from '#telemetry-writer/tracks/device-track'
import { questdbConnection } from '#test/questdb'
import type { DeviceState } from './device-state.ts'
import { createDeviceStates } from './device-states.ts'
import { remember, sight } from './seen-samples.ts'
import { openStateFile } from './state-file.ts'

let questdb: QuestdbSql
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
afterAll(() => questdb.end())

const nowMs = Date.UTC(2026, 10, 20)
const secondMs = 1_000

async function loadedDevice() {
  const states = createDeviceStates({
    questdb,
    generation: () => 0,
    position: () => 0,
    onFailure: () => {},
    activity: { statesRestored: 0 },
  })
  const deviceId = newId()
  await states.load(new Map([[deviceId, 'vehicle']]), nowMs)
  const origin = { deviceId, organizationId: newId(), receivedAtMs: nowMs }
  const fixAt = (minute: number) => ({
    ...{ tsMs: nowMs + minute * 60_000, lat: 50, lon: 8, fixTs: null, accuracyM: 5, speedMps: null, headingDeg: null },
  })
  const report = (minute: number) => advanceTrack(states.of(deviceId).track, origin, [fixAt(minute)], [])
  /** Calls `packIdle` as if no report arrived for 40 s. */
  const rest = (fromS: number) => {
    for (let second = fromS; second <= fromS + 40; second++) states.packIdle(second * secondMs)
  }
  return { states, deviceId, report, rest }
}

/** Marks a state as not packed: what it looks up faster is not among the bytes. */
function unpackedState(state: DeviceState): DeviceState {
  state.seen.cellular.lookup ??= new Set()
  return state
}

const wasPacked = ({ seen }: DeviceState): boolean => seen.cellular.lookup === undefined

test('a device that does not report is packed and continues with its next report', async () => {
  const { states, deviceId, report, rest } = await loadedDevice()
  report(0)
  report(3)
  const { newestMs } = unpackedState(states.of(deviceId)).seen.location
  rest(100)
  expect(states.dirty()).toEqual([])
  const after = states.of(deviceId)
  expect(wasPacked(after)).toBe(true)
  expect(after.seen.location.newestMs).toBe(newestMs)
  expect(report(6).dwells).toMatchObject([{ row: { tsMs: nowMs, fixCount: 1 } }])
})

test('a device that is loaded again and again is not packed', async () => {
  const { states, deviceId, report } = await loadedDevice()
  report(0)
  unpackedState(states.of(deviceId))
  for (let second = 100; second < 200; second++) {
    states.packIdle(second * secondMs)
    await states.load(new Map([[deviceId, 'vehicle']]), nowMs)
  }
  expect(wasPacked(states.of(deviceId))).toBe(false)
})

test('a device is not packed within 15 s of its report, whenever states are packed', async () => {
  const { states, deviceId, report } = await loadedDevice()
  report(0)
  unpackedState(states.of(deviceId))
  for (let second = 100; second < 200; second++) {
    states.packIdle(second * secondMs)
    if (second % 14 === 0) await states.load(new Map([[deviceId, 'vehicle']]), nowMs)
  }
  expect(wasPacked(states.of(deviceId))).toBe(false)
})

test('a device that reports rarely is packed right after its report, and stays unpacked when it reports often', async () => {
  const { states, deviceId, report, rest } = await loadedDevice()
  report(0)
  rest(100)
  states.packIdle(400 * secondMs)
  unpackedState(states.of(deviceId))
  states.packIdle(400.1 * secondMs)
  // The next reports may be loaded before the last ones are complete.
  expect(wasPacked(states.of(deviceId))).toBe(false)
  for (const second of [400.2, 400.3]) states.packIdle(second * secondMs)
  const soonAgain = states.of(deviceId)
  expect(wasPacked(soonAgain)).toBe(true)
  unpackedState(soonAgain)
  for (const second of [400.4, 400.5, 401]) states.packIdle(second * secondMs)
  expect(wasPacked(states.of(deviceId))).toBe(false)
  rest(402)
  expect(wasPacked(states.of(deviceId))).toBe(true)
})

test('a device with rows to realign is packed only when they are realigned', async () => {
  const { states, deviceId, report, rest } = await loadedDevice()
  report(0)
  const before = unpackedState(states.of(deviceId))
  markDirty(before.track, { fromMs: nowMs, toMs: nowMs })
  rest(100)
  expect(states.dirty()).toEqual([[deviceId, before]])
  expect(states.hasWork(deviceId)).toBe(true)
  takeDirty(before.track)
  rest(200)
  expect(states.hasWork(deviceId)).toBe(false)
  expect(wasPacked(states.of(deviceId))).toBe(true)
})

test('devices with rows to realign keep their order, so that each has its turn', async () => {
  const { states, deviceId, rest } = await loadedDevice()
  const others: [string, 'vehicle'][] = [newId(), newId()].map((id) => [id, 'vehicle'])
  await states.load(new Map(others), nowMs)
  const deviceIds = [deviceId, ...others.map(([id]) => id)]
  for (const id of deviceIds) markDirty(states.of(id).track, { fromMs: nowMs, toMs: nowMs })
  for (const fromS of [100, 115]) {
    states.packIdle(fromS * secondMs)
    await states.load(new Map([[deviceId, 'vehicle']]), nowMs)
    expect(states.dirty().map(([id]) => id)).toEqual(deviceIds)
  }
  rest(200)
  expect(states.dirty()).toHaveLength(3)
})

test('the open dwell of a packed device is settled when the device is quiet', async () => {
  const { states, deviceId, report, rest } = await loadedDevice()
  for (const minute of [0, 3, 6, 6.5]) report(minute)
  rest(100)
  const settled = states.settle(nowMs + 3_600_000, 10)
  expect(settled.map(([id]) => id)).toEqual([deviceId])
  expect(states.hasWork(deviceId)).toBe(true)
})

test('a device whose past position matters is packed, and realigned when there is time', async () => {
  const { states, deviceId, report, rest } = await loadedDevice()
  report(0)
  const before = unpackedState(states.of(deviceId))
  setPast(before.track, { tsMs: nowMs - 5 * 60_000, lat: 50, lon: 8 })
  rest(100)
  expect(states.settle(nowMs, 10).map(([id]) => id)).toEqual([deviceId])
  expect(wasPacked(states.of(deviceId))).toBe(true)
  expect(states.hasWork(deviceId)).toBe(true)
})

test('a packed device that was not used for an hour is removed', async () => {
  const { states, deviceId, report, rest } = await loadedDevice()
  report(0)
  rest(100)
  states.evict(nowMs + 3_600_000)
  expect(states.of(deviceId).usedAtMs).toBe(nowMs)
  rest(200)
  states.evict(nowMs + 3_600_001)
  expect(() => states.of(deviceId)).toThrow('before it was loaded')
})

test('a device that was loaded again after hours is not removed before its report is processed', async () => {
  const { states, deviceId, report, rest } = await loadedDevice()
  report(0)
  rest(100)
  await states.load(new Map([[deviceId, 'vehicle']]), nowMs + 2 * 3_600_000)
  states.evict(nowMs + 2 * 3_600_000)
  expect(states.of(deviceId).usedAtMs).toBe(nowMs)
})

test('after many devices were loaded from the database, they are packed without waiting', {
  timeout: 60_000,
}, async () => {
  const { states, deviceId, report } = await loadedDevice()
  states.packIdle(0)
  report(0)
  unpackedState(states.of(deviceId))
  states.packIdle(1 * secondMs)
  states.packIdle(2 * secondMs)
  expect(wasPacked(states.of(deviceId))).toBe(false)
  await states.load(new Map(Array.from({ length: 1_000 }, () => [newId(), 'vehicle'])), nowMs)
  for (let second = 3; second < 10; second++) states.packIdle(second * secondMs)
  expect(wasPacked(states.of(deviceId))).toBe(true)
})

test('a device of an earlier process continues without the database, which decides about the times of that process', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'device-states-'))
  const open = (reference?: StatesReference) =>
    openStateFile({ folder, reference, mayWrite: () => true, onGivenUp: (error) => expect.fail(String(error)) })
  const before = { position: () => 10, onFailure: () => {}, activity: { statesRestored: 0 } }
  const first = open()
  const earlier = createDeviceStates({ questdb, generation: () => 7, ...before, kept: { file: first, before: 0 } })
  const [deviceId, other, old] = [newId(), newId(), newId()]
  const loadedMs = Date.now()
  await earlier.load(
    new Map([
      [deviceId, 'vehicle'],
      [other, 'vehicle'],
    ]),
    loadedMs,
  )
  await earlier.load(new Map([[old, 'vehicle']]), loadedMs - 2 * 60 * 60 * secondMs)
  remember(earlier.of(deviceId).seen.cellular, loadedMs + secondMs, 'wwan0')
  for (let second = 0; second < 40; second++) earlier.packIdle(second * secondMs)
  const reference = first.flush()
  first.close()

  const refuses = () => Promise.reject(new Error('The database is not needed.'))
  const second = open(reference)
  const states = createDeviceStates({
    ...{ questdb: { query: refuses, queryArrays: refuses, end: refuses }, generation: () => 0, ...before },
    kept: { file: second, before: 10 },
  })
  expect([deviceId, other, old].map(states.has)).toEqual([true, true, false])
  await states.load(new Map([[deviceId, 'vehicle']]), nowMs)
  const { cellular } = states.of(deviceId).seen
  const seconds = [1, 2].map((second) => sight(cellular, loadedMs + second * secondMs, 'wwan0', 0))
  expect(seconds).toEqual(['unsure', 'new'])
  await expect(states.load(new Map([[other, 'ship']]), nowMs)).rejects.toThrow('not needed')
  second.close()
  rmSync(folder, { recursive: true })
})
