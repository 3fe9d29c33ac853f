import fc from 'fast-check'
import { expect, test } from 'vitest'
import { kinds } from '#telemetry/report/fields'
import {
  advanceTrack,
  createDeviceTrack,
  markDirty,
  setPast,
  settleWhenQuiet,
  takeDirty,
} from '#telemetry-writer/tracks/device-track'
import { cellularRow, track as tracks } from '#test/tracks'
import { type DeviceState, stateVersion } from './device-state.ts'
import { createStatePacker } from './packed-states.ts'
import { remember, type SeenTimes, sight, startSeenTimes } from './seen-samples.ts'

const startMs = Date.UTC(2026, 0, 1)
const minuteMs = 60_000
const origin = { deviceId: 'device', organizationId: 'owner', receivedAtMs: startMs }

const newState = (): DeviceState => ({
  position: 0,
  seen: Object.fromEntries(kinds.map((kind) => [kind, startSeenTimes(startMs, 0)])) as Record<
    (typeof kinds)[number],
    SeenTimes
  >,
  track: createDeviceTrack('vehicle'),
  newestSystemMs: 0,
  usedAtMs: startMs,
})

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

/** Gives the device a report. Returns everything that this writes or leaves to do. */
function take(
  state: DeviceState,
  { reports, times, nowMs, organizationId }: typeof steps extends fc.Arbitrary<(infer Step)[]> ? Step : never,
) {
  const generation = Math.floor((nowMs - startMs) / minuteMs)
  const sightings = times.map((tsMs) => {
    const source = tsMs % 2 === 0 ? '' : 'wwan1'
    const sighting = sight(state.seen.cellular, tsMs, source, generation)
    remember(state.seen.cellular, tsMs, source)
    return sighting
  })
  state.usedAtMs = nowMs
  const arrival = { organizationId, receivedAtMs: nowMs }
  const rows = times.map((tsMs) => ({ ...cellularRow(tsMs, { rat: 'lte', cells: '[{"pci":1}]' }), ...arrival }))
  const step = advanceTrack(state.track, { deviceId: 'device', ...arrival }, reports, rows)
  const isSettling = settleWhenQuiet(state.track, nowMs, nowMs + 3 * minuteMs)
  return {
    sightings,
    step,
    isSettling,
    dirty: takeDirty(state.track),
    undecidedMs: state.track.alignment.undecidedDwellMs(),
  }
}

test('a device that is packed between reports writes the same rows and dwells', () => {
  const packer = createStatePacker()
  fc.assert(
    fc.property(steps, (reports) => {
      const kept = newState()
      let state = newState()
      for (const report of reports) {
        expect(take(state, report)).toEqual(take(kept, report))
        const packed = report.isPacked ? packer.pack(state) : undefined
        if (packed) state = packer.unpack(packed.bytes)
      }
    }),
    { numRuns: 200 },
  )
}, 180_000)

test('a parked device with a hundred reports takes less than two kilobytes', () => {
  const packer = createStatePacker()
  const state = newState()
  for (let minute = 0; minute < 500; minute += 5) {
    const row = { ...cellularRow(startMs + minute * minuteMs), organizationId: 'owner', receivedAtMs: startMs }
    advanceTrack(state.track, origin, [fix(minute, 50 + (minute % 3) * 1e-5)], [row])
    takeDirty(state.track)
  }
  expect(packer.pack(state)?.bytes.length).toBeLessThan(2_000)
})

test('a device with rows to realign is not packed', () => {
  const state = newState()
  markDirty(state.track, { fromMs: startMs, toMs: startMs })
  expect(createStatePacker().pack(state)).toBeUndefined()
})

test.each([
  ['due at once, if its past position affects its first fix', 0, Number.NEGATIVE_INFINITY, true],
  ['not due, if it does not', 1, Number.POSITIVE_INFINITY, false],
])('a packed device is %s', (_, degreesNorth, dueMs, keepsPast) => {
  const packer = createStatePacker()
  const state = newState()
  setPast(state.track, { tsMs: startMs - 2 * minuteMs, lat: 50 + degreesNorth, lon: 8 })
  expect(packer.pack(state)?.settleDueMs).toBe(Number.POSITIVE_INFINITY)
  advanceTrack(state.track, origin, [fix(0, 50)], [])
  const packed = packer.pack(state)
  expect(packed?.settleDueMs).toBe(dueMs)
  expect(packed && packer.unpack(packed.bytes).track.past !== undefined).toBe(keepsPast)
})

test('a packed device tells when its open dwell has to be written', () => {
  const packer = createStatePacker()
  const state = newState()
  for (const minute of [0, 3, 6, 6.5]) advanceTrack(state.track, origin, [fix(minute, 50)], [])
  state.usedAtMs = startMs + 6.5 * minuteMs
  const dueMs = packer.pack(state)?.settleDueMs ?? 0
  const again = () => packer.unpack(packer.pack(state)?.bytes ?? Buffer.alloc(0))
  expect(settleWhenQuiet(again().track, state.usedAtMs, dueMs - 1)).toBe(false)
  expect(settleWhenQuiet(again().track, state.usedAtMs, dueMs)).toBe(true)
})

test('the members of a packed state belong to its version', () => {
  const packer = createStatePacker()
  const state = newState()
  setPast(state.track, { tsMs: startMs - 2 * minuteMs, lat: 50, lon: 8 })
  for (const minute of [0, 3, 6, 6.5]) {
    const row = { ...cellularRow(startMs + minute * minuteMs), organizationId: 'owner', receivedAtMs: startMs }
    advanceTrack(state.track, origin, [fix(minute, 50)], [row])
  }
  takeDirty(state.track)
  packer.pack(state)
  // Files of states remain after an update of the program. When this test fails, increase `stateVersion`.
  expect({ stateVersion, names: packer.names(0).map((names) => names.join()) }).toMatchInlineSnapshot(`
    {
      "names": [
        "position,seen,track,newestSystemMs,usedAtMs",
        "cellular,connection,location,system",
        "floorMs,newestMs,generation,sources,current,previous,lookup",
        "deviceClass,past,realignFailures,revision,written,unwritten,settledAtMs,interval,owners,services,alignment",
        "tsMs,lat,lon",
        "arrivedAtMs,lastInsideAtMs,gap",
        "fromMs,toMs",
        "receivedAtMs,everyMs",
        "present,previous",
        "organizationId,receivedAtMs,newestFixMs",
        "fixes,dwell,closedDwells,trailing,newestReportMs,knownFromMs,droppedUntilMs,openDwellRows,staleFromMs",
        "lat,lon,timeMs,firstReportMs,lastReportMs,accuracyM,speedMps,headingDeg,gap",
        "pending,open",
        "anchor,last,extent,accuracyM,gap",
        "origin,count,latOffsetSum,lonOffsetSum,hull,recent",
        "lat,lon",
        "modem,simPlmn,rat,plmn,operatorName,band,arfcn,bandwidthMhz,pci,cellId,tac,rssiDbm,rsrpDbm,rsrqDb,sinrDb,cqi,signalPercent,nrRsrpDbm,nrRsrqDb,nrSinrDb,nrArfcn,nrPci,nrBand,cells,lat,lon,accuracyM,fixAgeMs,kind,tsMs,tsCorrected,alignedLat,alignedLon,alignment,alignErrorM,alignedFixAgeMs,lostPlmn,organizationId,receivedAtMs",
      ],
      "stateVersion": 2,
    }
  `)
})
