import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { undecidedDwellMs } from '#telemetry/position/device-alignment'
import { radioRow } from '#telemetry/rows/radio-row'
import {
  advanceTrack,
  markDirty,
  noteSims,
  setPast,
  settleWhenQuiet,
  takeDirty,
} from '#telemetry-writer/tracks/device-track'
import { cellularRow, track as tracks } from '#test/tracks'
import { createDeviceState, type DeviceState, stateVersion } from './device-state.ts'
import { packState, unpackState } from './packed-states.ts'
import { remember, sight, startSeenTimes } from './seen-samples.ts'

const startMs = Date.UTC(2026, 0, 1)
const minuteMs = 60_000
const origin = { deviceId: 'device', organizationId: 'owner', receivedAtMs: startMs }

function newState(): DeviceState {
  const state = createDeviceState()
  state.usedAtMs = startMs
  for (const seen of Object.values(state.seen)) startSeenTimes(seen, startMs, 0)
  return state
}

function unpacked(bytes: Buffer | undefined): DeviceState {
  const state = createDeviceState()
  unpackState(bytes ?? Buffer.alloc(0), state)
  return state
}

const fix = (minute: number, lat: number) => ({
  ...{ tsMs: startMs + minute * minuteMs, lat, lon: 8, fixTs: null, accuracyM: 5, speedMps: null, headingDeg: null },
})

/** One report: fixes and RF rows, some of them late, and what else happens before the next one. */
const steps = fc
  .record({
    data: tracks,
    size: fc.integer({ min: 1, max: 9 }),
    late: fc.array(fc.nat(), { maxLength: 3 }),
    packed: fc.array(fc.boolean(), { minLength: 1 }),
    transferAt: fc.nat({ max: 40 }),
  })
  .map(({ data, size, late, packed, transferAt }) => {
    const items = [
      ...data.reports.map((report) => ({ tsMs: report.tsMs, report, row: undefined })),
      ...data.sampleTimes.map((tsMs) => ({ tsMs, report: undefined, row: tsMs })),
    ].sort((a, b) => a.tsMs - b.tsMs)
    for (const from of late) items.push(...items.splice(from % items.length, 1))
    return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => {
      const some = items.slice(index * size, (index + 1) * size)
      return {
        reports: some.flatMap(({ report }) => report ?? []),
        times: some.flatMap(({ row }) => row ?? []),
        nowMs: Math.max(...some.map(({ tsMs }) => tsMs)),
        organizationId: index < transferAt ? 'seller' : 'buyer',
        isPacked: packed[index % packed.length] ?? true,
      }
    })
  })

const modemAt = (tsMs: number) => (tsMs % 2_000 === 0 ? null : 'wwan1')

/** Gives the device a report. Returns everything that this writes or leaves to do. */
function take(
  state: DeviceState,
  { reports, times, nowMs, organizationId }: typeof steps extends fc.Arbitrary<(infer Step)[]> ? Step : never,
) {
  const generation = Math.floor((nowMs - startMs) / minuteMs)
  const sightings = times.map((tsMs) => {
    const source = modemAt(tsMs) ?? ''
    const sighting = sight(state.seen.cellular, tsMs, source, generation)
    remember(state.seen.cellular, tsMs, source)
    return sighting
  })
  state.usedAtMs = nowMs
  const arrival = { organizationId, receivedAtMs: nowMs }
  const rows = times.map((tsMs) =>
    radioRow(cellularRow(tsMs, { rat: 'lte', modem: modemAt(tsMs), cells: '[{"pci":1}]' }), organizationId, nowMs),
  )
  const step = advanceTrack(state.track, { deviceId: 'device', ...arrival }, reports, rows)
  const isSettling = settleWhenQuiet(state.track, nowMs, nowMs + 3 * minuteMs)
  return {
    sightings,
    step: { ...step, rows: step.rows.map((row) => ({ ...row, rest: row.rest.toString('latin1') })) },
    isSettling,
    dirty: takeDirty(state.track),
    undecidedMs: undecidedDwellMs(state.track.alignment),
  }
}

test('a device that is packed between reports writes the same rows and dwells', () => {
  fc.assert(
    fc.property(steps, (reports) => {
      const kept = newState()
      // The writer uses the object of a packed state for the state of another device.
      let [state, other] = [newState(), newState()]
      for (const report of reports) {
        expect(take(state, report)).toEqual(take(kept, report))
        const packed = report.isPacked ? packState(state) : undefined
        if (!packed) continue
        unpackState(packed.bytes, other)
        ;[state, other] = [other, state]
      }
    }),
    { numRuns: 200 },
  )
}, 180_000)

test('a parked device with a hundred reports takes less than two kilobytes', () => {
  const state = newState()
  for (let minute = 0; minute < 500; minute += 5) {
    const row = radioRow(cellularRow(startMs + minute * minuteMs), 'owner', startMs)
    advanceTrack(state.track, origin, [fix(minute, 50 + (minute % 3) * 1e-5)], [row])
    takeDirty(state.track)
  }
  expect(packState(state)?.bytes.length).toBeLessThan(2_000)
})

test('a device with rows to realign is not packed', () => {
  const state = newState()
  markDirty(state.track, { fromMs: startMs, toMs: startMs })
  expect(packState(state)).toBeUndefined()
})

test.each([
  ['due at once, if its past position affects its first fix', 0, Number.NEGATIVE_INFINITY, true],
  ['not due, if it does not', 1, Number.POSITIVE_INFINITY, false],
])('a packed device is %s', (_, degreesNorth, dueMs, keepsPast) => {
  const state = newState()
  setPast(state.track, { tsMs: startMs - 2 * minuteMs, lat: 50 + degreesNorth, lon: 8 })
  expect(packState(state)?.settleDueMs).toBe(Number.POSITIVE_INFINITY)
  advanceTrack(state.track, origin, [fix(0, 50)], [])
  const packed = packState(state)
  expect(packed?.settleDueMs).toBe(dueMs)
  expect(unpacked(packed?.bytes).track.past !== undefined).toBe(keepsPast)
})

test('a packed device tells when its open dwell has to be written', () => {
  const state = newState()
  for (const minute of [0, 3, 6, 6.5]) advanceTrack(state.track, origin, [fix(minute, 50)], [])
  state.usedAtMs = startMs + 6.5 * minuteMs
  const dueMs = packState(state)?.settleDueMs ?? 0
  const again = () => unpacked(packState(state)?.bytes)
  expect(settleWhenQuiet(again().track, state.usedAtMs, dueMs - 1)).toBe(false)
  expect(settleWhenQuiet(again().track, state.usedAtMs, dueMs)).toBe(true)
})

test('the bytes of a packed state belong to its version', () => {
  const state = newState()
  setPast(state.track, { tsMs: startMs - 2 * minuteMs, lat: 50, lon: 8 })
  for (const minute of [0, 3, 6, 6.5, 20]) {
    const sample = cellularRow(startMs + minute * minuteMs, {
      rat: 'lte',
      plmn: '26201',
      simPlmn: '26201',
      modem: 'wwan0',
    })
    advanceTrack(state.track, origin, [fix(minute, minute === 20 ? 51 : 50)], [radioRow(sample, 'owner', startMs)])
    noteSims(state.track, [{ modem: 'wwan0', fromMs: startMs, iccid: '8949', simSlot: 1 }])
    remember(state.seen.cellular, sample.tsMs, 'wwan0')
  }
  takeDirty(state.track)
  const packed = packState(state)
  // Files of states remain after an update of the program. When this test fails, increase `stateVersion`.
  expect({ stateVersion, crc: packed && crc32(packed.bytes) }).toMatchInlineSnapshot(`
    {
      "crc": 3688985078,
      "stateVersion": 4,
    }
  `)
  const bytes = Buffer.from(packed?.bytes ?? [])
  expect(packState(unpacked(bytes))?.bytes.equals(bytes)).toBe(true)
})
