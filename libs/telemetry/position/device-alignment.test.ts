import { serialize } from 'node:v8'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { CellularRow } from '#telemetry/report/rows'
import { byTimeAndModem, radioKey } from '#telemetry/report/sources'
import { cellularRow, modems, track } from '#test/tracks'
import { align } from './align.ts'
import { alignReport } from './align-report.ts'
import {
  copyAlignment,
  createDeviceAlignment,
  type DeviceAlignment,
  type TimeRange,
  unsettledRows,
} from './device-alignment.ts'
import type { FixReport } from './distinct-fixes.ts'
import { dwellPolicies } from './dwell.ts'
import { undecidedFromMs } from './dwell-detector.ts'
import { fixCount } from './fix-list.ts'
import { createFixScan, createRowPlacer } from './realign.ts'
import { createStartSearch, type RealignStart } from './realign-start.ts'

const policy = dwellPolicies.vehicle
/** Hundreds of tracks take a second, and much longer on a busy machine. */
const propertyTimeoutMs = 180_000
const byTime = (a: { tsMs: number }, b: { tsMs: number }) => a.tsMs - b.tsMs
const inside =
  ({ fromMs, toMs }: TimeRange) =>
  (item: { tsMs: number }) =>
    item.tsMs >= fromMs && item.tsMs <= toMs
type Arrival = { reports: FixReport[]; samples: CellularRow[] }

const inPages = <Item>(items: readonly Item[]): Item[][] =>
  Array.from({ length: Math.ceil(items.length / 3) }, (_, page) => items.slice(page * 3, page * 3 + 3))

/** A copy that shares nothing with the alignment but its rows, as a restart makes. */
function copyOf<Row extends CellularRow>(alignment: DeviceAlignment<Row>): DeviceAlignment<Row> {
  const copy = createDeviceAlignment<Row>()
  copyAlignment(alignment, copy, [...alignment.trailing])
  return copy
}

/** A writer and its storage: what was received, the rows last written, and what has to be aligned again. */
function createWriter() {
  const received: { reports: Map<number, FixReport>; samples: Map<number | string, CellularRow> } = {
    reports: new Map(),
    samples: new Map(),
  }
  const stored = new Map<number | string, CellularRow>()
  let alignment = createDeviceAlignment<CellularRow>()
  let dirty: TimeRange[] = []

  /** Works through the range in pages of three, as the service does in larger ones. */
  const realign = (range: TimeRange) => {
    const reports = [...received.reports.values()].sort(byTime)
    const before = reports.filter(({ tsMs }) => tsMs < range.fromMs).reverse()
    const search = createStartSearch(policy)
    const found = inPages(before).reduce<RealignStart | undefined>(
      (start, page) => start ?? search.take(page),
      undefined,
    )
    const start = found ?? search.atBeginning() ?? { reportsFromMs: 0, rowsFromMs: 0 }
    const pages = inPages(reports.filter(({ tsMs }) => tsMs >= start.reportsFromMs))
    const scan = createFixScan(policy, start, range)
    for (const page of pages) scan.take(page)
    const samples = [...received.samples.values()].filter(inside({ fromMs: start.rowsFromMs, toMs: scan.rowsToMs() }))
    const placer = createRowPlacer(scan.dwells())
    for (const row of samples.sort(byTime)) {
      while (pages.length > 0 && placer.needsReports(row.tsMs)) placer.takeReports(pages.shift() ?? [])
      stored.set(radioKey(row), placer.place(row))
    }
    return { scan, samples }
  }

  return {
    stored,
    take: ({ reports, samples }: Arrival) => {
      for (const report of reports) received.reports.set(report.tsMs, report)
      for (const row of samples) received.samples.set(radioKey(row), row)
      const step = alignReport(alignment, policy, reports, samples)
      for (const row of step.rows) stored.set(radioKey(row), row)
      dirty.push(...step.dirty)
    },
    /** Ends the process and starts it again from the kept state. */
    restart: () => {
      alignment = copyOf(alignment)
    },
    /** Works the dirty ranges off; the device's state is made anew when data came too late for it. */
    settle: () => {
      const unsettled = unsettledRows(alignment)
      for (const range of unsettled === null ? dirty : [...dirty, unsettled]) realign(range)
      const { staleFromMs } = alignment
      if (staleFromMs !== null) {
        const newest = { fromMs: staleFromMs, toMs: Number.POSITIVE_INFINITY }
        const { scan, samples } = realign(newest)
        alignment = createDeviceAlignment<CellularRow>()
        copyAlignment(scan.alignment, alignment, [])
        alignReport(alignment, policy, [], samples)
      }
      dirty = []
    },
  }
}

/** What alignment decides, short enough to read in a failure. */
const decisions = (rows: Iterable<CellularRow>) =>
  [...rows]
    .sort(byTimeAndModem)
    .map((row) =>
      [row.modem, row.tsMs, row.alignment, row.alignedLat, row.alignedLon, row.alignErrorM, row.alignedFixAgeMs].join(
        ' ',
      ),
    )

type Data = { reports: FixReport[]; sampleTimes: number[]; modems?: (string | null)[] }

/** Each modem is aligned as if the device had no other. */
const alignedAtOnce = ({ reports, sampleTimes, modems: names = [null] }: Data) =>
  decisions(
    names.flatMap((modem) => {
      const samples = sampleTimes.map((tsMs) => cellularRow(tsMs, { modem }))
      return align(reports, samples, policy).rows
    }),
  )

/** Cuts a track into reports to the service, of `size` items each. */
function inChunks({ reports, sampleTimes, modems: names = [null] }: Data, size: number): Arrival[] {
  const items = [
    ...reports.map((report) => ({ report, tsMs: report.tsMs })),
    ...names.flatMap((modem) => sampleTimes.map((tsMs) => ({ row: cellularRow(tsMs, { modem }), tsMs }))),
  ]
  const sorted: { tsMs: number; report?: FixReport; row?: CellularRow }[] = items.sort(byTime)
  return Array.from({ length: Math.ceil(sorted.length / size) }, (_, chunk) => {
    const part = sorted.slice(chunk * size, (chunk + 1) * size)
    return {
      reports: part.flatMap(({ report }) => report ?? []),
      samples: part.flatMap(({ row }) => row ?? []),
    }
  })
}

it('for samples in order, writes the rows of a complete alignment at once, except for open dwells', {
  timeout: propertyTimeoutMs,
}, () => {
  fc.assert(
    fc.property(track, fc.integer({ min: 1, max: 40 }), (data, size) => {
      const writer = createWriter()
      for (const arrival of inChunks(data, size)) writer.take(arrival)
      writer.settle()
      expect(decisions(writer.stored.values())).toEqual(alignedAtOnce(data))
    }),
    { numRuns: 100 },
  )
})

it('writes at most twice the rows for two modems', { timeout: propertyTimeoutMs }, () => {
  const writtenRows = (arrivals: Arrival[]) => {
    const alignment = createDeviceAlignment<CellularRow>()
    return arrivals.reduce(
      (count, { reports, samples }) => count + alignReport(alignment, policy, reports, samples).rows.length,
      0,
    )
  }
  fc.assert(
    fc.property(track, fc.integer({ min: 1, max: 40 }), (data, size) => {
      const ofOne = inChunks(data, size)
      const ofTwo = ofOne.map(({ reports, samples }) => ({
        reports,
        samples: ['wwan0', 'wwan1'].flatMap((modem) => samples.map((row) => ({ ...row, modem }))),
      }))
      expect(writtenRows(ofTwo)).toBeLessThanOrEqual(2 * writtenRows(ofOne))
    }),
    { numRuns: 100 },
  )
})

it('for any order, duplicates, delays, restarts and realignments, the final rows are the same', {
  timeout: propertyTimeoutMs,
}, () => {
  const disorder = fc.record({
    size: fc.integer({ min: 1, max: 40 }),
    order: fc.infiniteStream(fc.integer({ min: 0, max: 1000 })),
    events: fc.infiniteStream(fc.constantFrom('none', 'none', 'none', 'repeat', 'restart', 'settle')),
    spread: fc.constantFrom(1, 3, 100),
  })
  fc.assert(
    fc.property(track, modems, disorder, (positions, names, { size, order, events, spread }) => {
      const data = { ...positions, modems: names }
      const chunks = inChunks(data, size)
        .map((arrival, index) => ({ arrival, at: index + ((order.next().value ?? 0) % spread) }))
        .sort((a, b) => a.at - b.at)
      const writer = createWriter()
      for (const { arrival } of chunks) {
        writer.take(arrival)
        const event = events.next().value
        if (event === 'repeat') writer.take(arrival)
        if (event === 'restart') writer.restart()
        if (event === 'settle') writer.settle()
      }
      writer.settle()
      expect(decisions(writer.stored.values())).toEqual(alignedAtOnce(data))
    }),
    { numRuns: 200 },
  )
})

it('aligns a late row again when a fix with an earlier time arrives', () => {
  const start = Date.UTC(2026, 0, 1)
  const report = (second: number, northM: number, fixSecond = second): FixReport => ({
    tsMs: start + second * 1000,
    lat: 50 + northM / 111_195,
    lon: 8,
    fixTs: start + fixSecond * 1000,
    accuracyM: 5,
    speedMps: null,
    headingDeg: null,
  })
  const reports = [report(0, 0), report(7_283, 0), report(7_284, 800, 7_280), report(7_285, 1_600, 7_281)]
  const last = report(7_286, 2_400, 7_282)
  const lateMs = start + 7_283_300
  const writer = createWriter()
  writer.take({ reports, samples: [] })
  writer.take({ reports: [], samples: [cellularRow(lateMs)] })
  writer.settle()
  writer.take({ reports: [last], samples: [] })
  writer.settle()
  expect(decisions(writer.stored.values())).toEqual(
    alignedAtOnce({ reports: [...reports, last], sampleTimes: [lateMs] }),
  )
})

/** A vehicle that turns at every fix, at 10 m/s. */
const zigzag = (fixes: number): FixReport[] => {
  const start = Date.UTC(2026, 0, 1)
  return Array.from({ length: fixes }, (_, fix) => ({
    tsMs: start + fix * 10_000,
    lat: 50 + (Math.ceil(fix / 2) * 100) / 111_195,
    lon: 8 + (Math.floor(fix / 2) * 150) / 111_195,
    fixTs: null,
    accuracyM: 5,
    speedMps: 10,
    headingDeg: null,
  }))
}

it('places a late row as with all fixes in memory, or marks it for realignment', () => {
  const reports = zigzag(200)
  const alignment = createDeviceAlignment<CellularRow>()
  for (const report of reports) alignReport(alignment, policy, [report], [])
  let placed = 0
  for (const { tsMs } of reports.slice(0, -1)) {
    const late = cellularRow(tsMs + 5_000)
    const { rows, dirty } = alignReport(copyOf(alignment), policy, [], [late])
    if (dirty.length > 0) continue
    expect(decisions(rows)).toEqual(alignedAtOnce({ reports, sampleTimes: [late.tsMs] }))
    placed++
  }
  expect(placed).toBeGreaterThan(100)
  expect(placed).toBeLessThan(150)
})

it('does not use its memory for times before its start', () => {
  const reports = zigzag(130)
  const knownFromMs = reports[6]?.tsMs ?? 0
  const alignment = createDeviceAlignment(knownFromMs)
  for (const report of reports) {
    alignReport(alignment, policy, [report], [])
    expect(alignment.knownFromMs).toBeGreaterThanOrEqual(knownFromMs)
  }
  expect(fixCount(alignment.fixes)).toBeLessThan(reports.length)
})

it('ends a scan only where late data cannot have changed the time of the previous fix', () => {
  const [first, other] = zigzag(2)
  if (first === undefined || other === undefined) throw new Error('there are two fixes')
  const at = (report: FixReport, second: number, northM: number): FixReport => ({
    ...report,
    tsMs: first.tsMs + second * 1000,
    lat: 50 + northM / 111_195,
  })
  // The fix at 30 s came late. Without it the two around it are one, which is too old to give a direction at 70 s.
  const reports = [at(first, 5, 0), at(other, 30, 50), at(first, 65, 0), at(first, 70, 250), at(first, 80, 500)]
  const range = { fromMs: first.tsMs + 30_000, toMs: first.tsMs + 30_000 }
  const scan = createFixScan(policy, { reportsFromMs: first.tsMs, rowsFromMs: first.tsMs }, range)
  scan.take(reports.slice(0, 4))
  expect(scan.isClosed()).toBe(false)
  scan.take(reports.slice(4))
  expect(scan.rowsToMs()).toBe(first.tsMs + 80_000 - 1)
})

it('writes a trailing row at once, and again when the next fix arrives', () => {
  const alignment = createDeviceAlignment<CellularRow>()
  const start = Date.UTC(2026, 0, 1)
  const fix = { tsMs: start, lat: 50, lon: 8, fixTs: null, accuracyM: 5, speedMps: 10, headingDeg: null }
  expect(alignReport(alignment, policy, [fix], [cellularRow(start + 5000)]).rows).toMatchObject([{ alignment: 'held' }])
  const next = alignReport(alignment, policy, [{ ...fix, tsMs: start + 10_000, lat: 50.001 }], [])
  expect(next.rows).toMatchObject([{ tsMs: start + 5000, alignment: 'interpolated', alignedLat: 50.0005 }])
  expect(next.dirty).toEqual([])
})

it('has a constant size, however long a device moves, stands still or has no fix', () => {
  const alignment = createDeviceAlignment<CellularRow>()
  const start = Date.UTC(2026, 0, 1)
  const sizes: number[] = []
  for (let second = 0; second < 40_000; second++) {
    const tsMs = start + second * 1000
    const mode = Math.floor(second / 5000) % 4
    const lat = mode === 0 ? 50 + second * 1e-4 : 50 + (second % 7) * 1e-6
    const report = { tsMs, lat, lon: (second % 11) * 1e-6, fixTs: null, accuracyM: 5, speedMps: null, headingDeg: null }
    alignReport(alignment, policy, mode === 3 ? [] : [report], [cellularRow(tsMs)])
    if (second % 1000 === 999) sizes.push(serialize(copyOf(alignment)).length)
  }
  expect(Math.max(...sizes)).toBeLessThan(1_000_000)
})

it('keeps at most 1 MiB of RF rows and marks the others for realignment', () => {
  const alignment = createDeviceAlignment<CellularRow>()
  const start = Date.UTC(2026, 0, 1)
  const fix = { tsMs: start, lat: 50, lon: 8, fixTs: null, accuracyM: 5, speedMps: 10, headingDeg: null }
  const rows = Array.from({ length: 500 }, (_, second) =>
    Object.assign(cellularRow(start + second * 1000), { restBytes: 10_000 }),
  )
  alignReport(alignment, policy, [fix], rows)
  const { trailing, droppedUntilMs } = alignment
  expect(trailing.length).toBe(102)
  expect(droppedUntilMs).toBe(start + 397_000)
  const { dirty } = alignReport(alignment, policy, [{ ...fix, tsMs: start + 500_000, lat: 50.001 }], [])
  expect(dirty).toEqual([{ fromMs: start, toMs: start + 397_000 }])
})

it('continues the same without the rows that data in order cannot move', { timeout: propertyTimeoutMs }, () => {
  fc.assert(
    fc.property(track, fc.nat(), fc.integer({ min: 1, max: 9 }), (data, at, size) => {
      const cutMs = data.reports[at % data.reports.length]?.tsMs ?? 0
      const past = data.reports.filter(({ tsMs }) => tsMs <= cutMs)
      const rows = data.sampleTimes.filter((tsMs) => tsMs <= cutMs).map((tsMs) => cellularRow(tsMs))
      const movableFromMs = undecidedFromMs(past, policy)
      const continued = [rows, rows.filter(({ tsMs }) => tsMs >= movableFromMs)].map((some) => {
        const alignment = createDeviceAlignment<CellularRow>()
        alignReport(alignment, policy, past, some)
        // A restored track does not know whether rows of its open dwell were written.
        alignment.openDwellRows = alignment.dwell.isOpen ? 'stale' : 'none'
        return alignment
      })
      const later = {
        reports: data.reports.filter(({ tsMs }) => tsMs > cutMs),
        sampleTimes: data.sampleTimes.filter((tsMs) => tsMs > cutMs),
      }
      for (const { reports, samples } of inChunks(later, size)) {
        const [all, movable] = continued.map((alignment) => alignReport(alignment, policy, reports, samples))
        expect(movable).toEqual(all)
      }
    }),
    { numRuns: 300 },
  )
})
