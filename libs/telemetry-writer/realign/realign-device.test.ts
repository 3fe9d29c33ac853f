import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StoredDwell, StoredFixReport } from '#questdb/writer/device-tracks'
import type { TrackStore } from '#questdb/writer/track-store'
import { align } from '#telemetry/position/align'
import type { TimeRange } from '#telemetry/position/device-alignment'
import type { FixReport } from '#telemetry/position/distinct-fixes'
import { dwellPolicies } from '#telemetry/position/dwell'
import { byTimeAndModem, radioKey } from '#telemetry/report/sources'
import { type RadioRow, radioRow } from '#telemetry/rows/radio-row'
import { advanceTrack, createDeviceTrack, settleWhenQuiet } from '#telemetry-writer/tracks/device-track'
import type { DwellRow } from '#telemetry-writer/tracks/dwell-row'
import type { Realigned, Slices } from '#telemetry-writer/tracks/realign-range'
import { drivesMissing, readDrives } from '#test/drives'
import { cleanDrive } from '#test/hold-out'
import { cellularRow, modems, track } from '#test/tracks'
import { until } from '#test/until'
import { realignDevice } from './realign-device.ts'

const policy = dwellPolicies.vehicle
const startMs = Date.UTC(2026, 0, 1)
const origin = { deviceId: 'device', organizationId: 'organization', receivedAtMs: 0 }
const byTime = (a: { tsMs: number }, b: { tsMs: number }) => a.tsMs - b.tsMs
const inside =
  ({ fromMs, toMs }: TimeRange) =>
  ({ tsMs }: { tsMs: number }) =>
    tsMs >= fromMs && tsMs <= toMs

/** A writer with an in-memory store of one device that returns pages of a few rows, unless they are larger. */
function createWriter(pageSizes: TrackStore['pageSizes'] = { fixes: 3, rows: 4, dwells: 2 }) {
  const fixes = new Map<number, StoredFixReport>()
  const rows = new Map<number | string, RadioRow>()
  const dwells = new Map<number, DwellRow>()
  const sorted = <Row extends { tsMs: number }>(stored: Map<unknown, Row>, range: TimeRange) =>
    [...stored.values()].filter(inside(range)).sort(byTime)
  const dwellOf = ({ tsMs, lastInsideAtMs, withdrawn }: DwellRow): StoredDwell => ({
    ...{ arrivedAtMs: tsMs, lastInsideAtMs, withdrawn },
    ...origin,
  })
  const sizes: number[] = []
  const page = <Item>(items: Item[], limit: number): Item[] => {
    const found = items.slice(0, limit)
    sizes.push(found.length)
    return found
  }
  const store: TrackStore = {
    pageSizes,
    fixesBackwards: async (range, limit) => page(sorted(fixes, range).reverse(), limit),
    fixes: async (range, limit) => page(sorted(fixes, range), limit),
    async rows(range, limit) {
      const found = sorted(rows, range)
      const lastMs = found[limit - 1]?.tsMs ?? Number.POSITIVE_INFINITY
      return found.filter(({ tsMs }) => tsMs <= lastMs)
    },
    services: async () => [],
    dwells: async (range, limit) => page(sorted(dwells, range).map(dwellOf), limit),
    dwellsBackwards: async (beforeMs, limit) =>
      page(sorted(dwells, { fromMs: 0, toMs: beforeMs }).map(dwellOf).reverse(), limit),
  }
  const device = createDeviceTrack('vehicle')
  let slices: Slices<void> | undefined

  const write = (realigned: Realigned) => {
    for (const { row } of realigned.rows) rows.set(radioKey(row), row)
    for (const { row } of realigned.dwells) dwells.set(row.tsMs, row)
  }
  /** Runs up to `count` slices. Returns whether work is left. */
  const work = async (count: number): Promise<boolean> => {
    for (let slice = 0; slice < count; slice++) {
      if (!slices && device.dirty.length === 0) return false
      slices ??= realignDevice({ store, deviceId: 'device', track: device })
      const next = await slices.next()
      if (next.done) slices = undefined
      else write(next.value)
    }
    return true
  }
  return {
    device,
    rows,
    dwells,
    sizes,
    take(reports: readonly FixReport[], samples: readonly RadioRow[]) {
      for (const report of reports) fixes.set(report.tsMs, { ...report, ...origin })
      for (const row of samples) rows.set(radioKey(row), row)
      const step = advanceTrack(device, origin, reports, samples)
      for (const row of step.rows) rows.set(radioKey(row), row)
      for (const { row } of step.dwells) dwells.set(row.tsMs, row)
    },
    work,
    /** Runs until no work is left for a quiet device. */
    async settle() {
      for (let nowMs = 1e13; ; nowMs += 1e13) {
        for (let turns = 0; await work(100); turns++) if (turns > 1_000) throw new Error('It never ends.')
        if (!settleWhenQuiet(device, 0, nowMs)) return
      }
    },
  }
}

type Data = { reports: FixReport[]; sampleTimes: number[] }
type Arrival = { reports: FixReport[]; samples: RadioRow[] }

const rowAt = (tsMs: number, modem: string | null = null): RadioRow =>
  radioRow(cellularRow(tsMs, { modem }), 'organization', 0)

function inChunks({ reports, sampleTimes }: Data, size: number, names: (string | null)[] = [null]): Arrival[] {
  const items: { tsMs: number; report?: FixReport; row?: RadioRow }[] = [
    ...reports.map((report) => ({ report, tsMs: report.tsMs })),
    ...names.flatMap((modem) => sampleTimes.map((tsMs) => ({ row: rowAt(tsMs, modem), tsMs }))),
  ].sort(byTime)
  return Array.from({ length: Math.ceil(items.length / size) }, (_, chunk) => {
    const part = items.slice(chunk * size, (chunk + 1) * size)
    return { reports: part.flatMap(({ report }) => report ?? []), samples: part.flatMap(({ row }) => row ?? []) }
  })
}

/** The reports of a modem that sends once a minute: what it measured, and the fixes of that time. */
function inParts(reports: readonly FixReport[], samples: readonly RadioRow[]) {
  const times = [...reports, ...samples].map(({ tsMs }) => tsMs)
  const minutes = [...new Set(times.map((tsMs) => tsMs - (tsMs % 60_000)))]
  return minutes.map((fromMs) => {
    const isInside = inside({ fromMs, toMs: fromMs + 59_999 })
    return { fromMs, reports: reports.filter(isInside), samples: samples.filter(isInside) }
  })
}

const placesOf = (rows: Iterable<RadioRow>) =>
  [...rows]
    .sort(byTimeAndModem)
    .map((row) =>
      [row.modem, row.tsMs, row.alignment, row.alignedLat, row.alignedLon, row.alignErrorM, row.alignedFixAgeMs].join(
        ' ',
      ),
    )

const disorder = fc.record({
  size: fc.integer({ min: 1, max: 40 }),
  delays: fc.infiniteStream(fc.integer({ min: 0, max: 1_000 })),
  slices: fc.infiniteStream(fc.constantFrom(0, 0, 1, 2, 5)),
  spread: fc.constantFrom(1, 3, 100),
})

test('data that arrives between slices in any order gives the same rows and dwells as all data at once', {
  timeout: 180_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(track, modems, disorder, async (data, names, { size, delays, slices, spread }) => {
      const writer = createWriter()
      const arrivals = inChunks(data, size, names)
        .map((arrival, index) => ({ arrival, at: index + ((delays.next().value ?? 0) % spread) }))
        .sort((a, b) => a.at - b.at)
      for (const { arrival } of arrivals) {
        writer.take(arrival.reports, arrival.samples)
        await writer.work(slices.next().value ?? 0)
      }
      await writer.settle()
      const ofModems = names.map((modem) =>
        align(
          data.reports,
          data.sampleTimes.map((tsMs) => rowAt(tsMs, modem)),
          policy,
        ),
      )
      const rows = ofModems.flatMap((ofModem) => ofModem.rows)
      expect(placesOf(writer.rows.values())).toEqual(placesOf(rows))
      const [expected = { dwells: [] }] = ofModems
      const dwells = [...writer.dwells.values()].filter(({ withdrawn }) => !withdrawn).sort(byTime)
      expect(dwells.map(({ tsMs, departedAtMs, fixCount }) => [tsMs, departedAtMs, fixCount])).toEqual(
        expected.dwells.map(({ arrivedAtMs, departedAtMs, fixCount }) => [arrivedAtMs, departedAtMs, fixCount]),
      )
      expect(Math.max(0, ...writer.sizes)).toBeLessThanOrEqual(100)
    }),
    { numRuns: 300 },
  )
})

test('a drive with two modems at 1 Hz, in any order of arrival, has the rows of each modem alone', async ({ skip }) => {
  if (drivesMissing) return skip(drivesMissing)
  const placed = new Set<string>()
  for (const drive of readDrives()) {
    const { reports, samples } = cleanDrive(drive)
    const ofModems = ['wwan0', 'wwan1'].map((modem, index) =>
      // The modems measure different cells at the same milliseconds.
      samples.map((row) => radioRow({ ...row, modem, pci: index }, 'organization', 0)),
    )
    const expected = ofModems.flatMap((rows) => align(reports, rows, policy).rows)
    const [order] = fc.sample(fc.infiniteStream(fc.nat(1_000)), { numRuns: 1, seed: reports.length })
    const next = () => order?.next().value ?? 0
    const parts = [...inParts(reports, ofModems[0] ?? []), ...inParts([], ofModems[1] ?? [])]
    // Mostly by time; some parts arrive twice, and some after all others.
    const arrivals = parts.flatMap((part) => {
      const at = part.fromMs + next() * 200
      return next() < 150
        ? [
            { part, at },
            { part, at: at + next() * 10_000 },
          ]
        : [{ part, at }]
    })
    const late = arrivals.filter(() => next() < 100)
    for (const arrival of late) arrival.at = Number.MAX_SAFE_INTEGER
    const writer = createWriter({ fixes: 1_000, rows: 1_000, dwells: 100 })
    for (const { part } of arrivals.sort((a, b) => a.at - b.at)) {
      writer.take(part.reports, part.samples)
      await writer.work(next() % 2)
    }
    await writer.settle()
    const rowsOf = (rows: Iterable<RadioRow>) => {
      const sorted = [...rows].sort(byTimeAndModem)
      return placesOf(sorted).map((place, index) => `${place} ${sorted[index]?.rest.toString('base64')}`)
    }
    expect(rowsOf(writer.rows.values())).toEqual(rowsOf(expected))
    for (const { alignment } of writer.rows.values()) placed.add(alignment)
  }
  expect(placed.size).toBeGreaterThan(3)
})

test('places a row between a late fix and the previous fix that arrives after its time was rebuilt', async () => {
  const writer = createWriter()
  const fix = (second: number): FixReport => ({
    tsMs: startMs + second * 1_000,
    ...{ lat: 50 + (second * 2) / 111_195, lon: 8, fixTs: null, accuracyM: 5, speedMps: 2, headingDeg: null },
  })
  const seconds = Array.from({ length: 10 }, (_, index) => index * 120)
  const lateMs = startMs + 300
  const times = seconds.map((second) => startMs + second * 1_000 + 60_000)
  writer.take(
    seconds.filter((second) => second !== 120).map(fix),
    times.map((tsMs) => rowAt(tsMs)),
  )
  writer.take([fix(120)], [])
  await until('the rows around the late fix are placed again', async () => {
    await writer.work(1)
    return (writer.device.rebuilding?.placedToMs ?? 0) > startMs + 120_000
  })
  writer.take([], [rowAt(lateMs)])
  await writer.settle()
  const expected = align(
    seconds.map(fix),
    [lateMs, ...times].map((tsMs) => rowAt(tsMs)),
    policy,
  )
  expect(placesOf(writer.rows.values())).toEqual(placesOf(expected.rows))
})

test('a fix dated back into rebuilt time does not undo the changes of an earlier late fix', async () => {
  const writer = createWriter()
  const fix = (second: number, northM: number, fixSecond = second): FixReport => ({
    tsMs: startMs + second * 1_000,
    ...{ lat: 50 + northM / 111_195, lon: 8, fixTs: startMs + fixSecond * 1_000, accuracyM: 5 },
    ...{ speedMps: null, headingDeg: null },
  })
  const inOrder = [fix(0, 0), fix(480, 0), fix(601, 800, 597)]
  const late = fix(600, 0)
  const datedBack = [fix(602, 1_600, 598), fix(603, 2_400, 599), fix(604, 3_200, 600)]
  const times = Array.from({ length: 12 }, (_, index) => startMs + 600_000 + index * 100)
  writer.take(
    inOrder,
    times.map((tsMs) => rowAt(tsMs)),
  )
  writer.take([late], [])
  await until('the first rows are placed again', async () => {
    await writer.work(1)
    return (writer.device.rebuilding?.placedToMs ?? 0) >= startMs + 600_000
  })
  writer.take(datedBack, [])
  await writer.settle()
  const expected = align(
    [...inOrder, late, ...datedBack].sort(byTime),
    times.map((tsMs) => rowAt(tsMs)),
    policy,
  )
  expect(placesOf(writer.rows.values())).toEqual(placesOf(expected.rows))
})

test('places a row that arrives between the last row of a slice and the first row of the next', async () => {
  const writer = createWriter()
  const fix = (second: number): FixReport => ({
    tsMs: startMs + second * 1_000,
    ...{ lat: 50 + (second * 25) / 111_195, lon: 8, fixTs: null, accuracyM: 5, speedMps: 25, headingDeg: null },
  })
  const times = [11, 45].map((second) => startMs + second * 1_000)
  writer.take(
    [0, 10, 30, 40, 50].map(fix),
    times.map((tsMs) => rowAt(tsMs)),
  )
  writer.take([fix(20)], [])
  await until('the first row is placed again', async () => {
    await writer.work(1)
    return writer.device.rebuilding?.placedToMs === startMs + 11_000
  })
  writer.take([], [rowAt(startMs + 15_000)])
  await writer.settle()
  const all = [11, 15, 45].map((second) => rowAt(startMs + second * 1_000))
  const expected = align([0, 10, 20, 30, 40, 50].map(fix), all, policy)
  expect(placesOf(writer.rows.values())).toEqual(placesOf(expected.rows))
})

test('a realignment ends although its device keeps sending', async () => {
  const writer = createWriter()
  const fix = (second: number): FixReport => ({
    tsMs: startMs + second * 1_000,
    ...{ lat: 50 + second * 0.0005, lon: 8, fixTs: null, accuracyM: 5, speedMps: 10, headingDeg: null },
  })
  const seconds = Array.from({ length: 200 }, (_, second) => second)
  writer.take(
    [...seconds.map(fix).slice(1)],
    seconds.map((second) => rowAt(startMs + second * 1_000 + 500)),
  )
  writer.take([fix(0)], [])
  let sent = 200
  for (let isBusy = true; isBusy && sent < 2_000; sent++) {
    writer.take([fix(sent)], [rowAt(startMs + sent * 1_000 + 500)])
    isBusy = await writer.work(2)
  }
  expect(sent).toBeLessThan(2_000)
  const expected = align(
    Array.from({ length: sent }, (_, second) => fix(second)),
    [...writer.rows.values()].sort(byTime).map(({ tsMs }) => rowAt(tsMs)),
    policy,
  )
  expect(placesOf(writer.rows.values())).toEqual(placesOf(expected.rows))
})

test('a realignment that does not reach a fresh start leaves earlier rows unchanged', async () => {
  const writer = createWriter()
  const minuteMs = 60_000
  const reports: FixReport[] = []
  let [tsMs, northM, eastM] = [startMs, 0, 0]
  const drive = (fixes: number, everyMs: number, stepM: number) => {
    for (let index = 0; index < fixes; index++) {
      tsMs += everyMs
      if (index % 2 === 0) northM += stepM
      else eastM += stepM
      const position = { lat: 50 + northM / 111_195, lon: 8 + eastM / 71_474 }
      reports.push({ tsMs, ...position, fixTs: null, accuracyM: 5, speedMps: 10, headingDeg: null })
    }
  }
  // Never a jump, never a stay: seven days back, the device was turning every five seconds.
  drive(72, 10 * minuteMs, 150)
  const reachedMs = tsMs + 2.5 * minuteMs
  drive(60, 5_000, 50)
  drive(7 * 144 + 12, 10 * minuteMs, 150)
  const times = reports.filter((fix) => Math.abs(fix.tsMs - reachedMs) <= 4 * minuteMs).map((fix) => fix.tsMs + 2_000)
  writer.take(
    reports,
    times.map((tsMs) => rowAt(tsMs)),
  )
  await writer.settle()
  const lateMs = reachedMs + 7 * 24 * 60 * minuteMs
  writer.take([], [rowAt(lateMs)])
  writer.sizes.length = 0
  await writer.settle()
  expect(writer.sizes.length).toBeGreaterThan(600)
  const expected = align(
    reports,
    [...times, lateMs].map((tsMs) => rowAt(tsMs)),
    policy,
  )
  expect(placesOf(writer.rows.values())).toEqual(placesOf(expected.rows))
})
