import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CellMedian, compareMedians, sharedCellOf } from '#test/cell-medians'
import { createDraw } from '#test/draw'
import { createRadioComparison, type RadioHealth } from './radio-health.ts'
import type { Radio } from './roster.ts'

const msPerHour = 3_600_000
const msPerDay = 24 * msPerHour
const startMs = Date.UTC(2026, 0, 1)
const window = { fromHour: startMs / msPerHour, toHour: startMs / msPerHour + 30 * 24 }

const cellMedian = (fields: Partial<CellMedian>): CellMedian => ({
  deviceId: 'a',
  modem: null,
  hourMs: startMs,
  h3: '8a1900000000000',
  rat: 'lte',
  cellId: '10805003',
  pci: null,
  arfcn: null,
  rsrpDbm: -90,
  ...fields,
})

const radio = (deviceId: string, fields: Partial<Radio> = {}): Radio => ({
  deviceId,
  modem: null,
  model: 'x',
  ...fields,
})

type Driven = {
  offsetDb?: number
  model?: string
  modem?: string
  cells?: number
  days?: number
  offsetOn?: (day: number) => number
}

/** Radios that drive through the same cells, each day in another hour, with a noise of ±2 dB and an offset. */
function drivenFleet(driven: Record<string, Driven>): { radios: Radio[]; medians: CellMedian[] } {
  const draw = createDraw(7)
  const radios = Object.entries(driven).map(([deviceId, { model = 'x', modem = null }]) =>
    radio(deviceId, { model, modem }),
  )
  const medians = Object.entries(driven).flatMap(([deviceId, { offsetDb = 0, modem = null, offsetOn, ...size }]) =>
    Array.from({ length: size.days ?? 4 }, (_, day) =>
      Array.from({ length: size.cells ?? 40 }, (_, cell) =>
        cellMedian({
          deviceId,
          modem,
          h3: `cell-${cell}`,
          hourMs: startMs + day * msPerDay + 8 * msPerHour,
          rsrpDbm: -80 - (cell % 30) + (offsetOn?.(day) ?? offsetDb) + 4 * draw() - 2,
        }),
      ),
    ).flat(),
  )
  return { radios, medians }
}

const healthOf = (fleet: { radios: Radio[]; medians: CellMedian[] }) =>
  compareMedians(fleet.radios, fleet.medians, window)

const byDevice = (found: readonly RadioHealth[]) => Object.fromEntries(found.map((item) => [item.deviceId, item]))

const healthy = (count: number, driven: Driven = {}) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`device-${index}`, driven]))

describe('the status of a radio', () => {
  it('is that of a fault if it is clearly weaker than its neighbours', () => {
    const found = healthOf(drivenFleet({ ...healthy(5), weak: { offsetDb: -6 } }))
    expect(found[0]).toMatchObject({
      deviceId: 'weak',
      status: 'fault',
      sharedCells: 40,
      comparedDevices: 5,
      sinceAtMs: null,
    })
    expect(found[0]?.offsetDb).toBeCloseTo(-6, 0)
    expect(found.slice(1).map(({ status }) => status)).toEqual(Array(5).fill('ok'))
    for (const { offsetDb, offsetLowDb, offsetHighDb } of found) {
      expect(offsetLowDb).toBeLessThanOrEqual(Number(offsetDb))
      expect(offsetHighDb).toBeGreaterThanOrEqual(Number(offsetDb))
    }
  })

  it('is suspect if it is a little weaker, or much weaker in too few cells for a fault', () => {
    const statusOf = (driven: Driven) => byDevice(healthOf(drivenFleet({ ...healthy(5), weak: driven }))).weak?.status
    expect(statusOf({ offsetDb: -2.2 })).toBe('suspect')
    expect(statusOf({ offsetDb: -8, cells: 19 })).toBe('suspect')
    expect(statusOf({ offsetDb: -8, cells: 20 })).toBe('fault')
    expect(statusOf({ offsetDb: 6 })).toBe('ok')
  })

  it('is unknown with fewer than ten shared cells, and without two other devices', () => {
    const few = byDevice(healthOf(drivenFleet({ ...healthy(5), weak: { offsetDb: -8, cells: 9 } }))).weak
    expect(few).toMatchObject({
      status: 'unknown',
      sharedCells: 9,
      comparedDevices: 5,
      offsetDb: null,
      offsetLowDb: null,
    })
    const pair = healthOf(drivenFleet({ a: {}, b: { offsetDb: -8 } }))
    expect(pair).toMatchObject([{ status: 'unknown' }, { status: 'unknown' }])
    expect(pair[1]).toMatchObject({ sharedCells: 0, comparedDevices: 0, modelOffsetDb: null, sinceAtMs: null })
  })

  it('does not count the modems of a device as its neighbours', () => {
    const one = drivenFleet({ a: { modem: 'wwan0' }, b: {} })
    const other = drivenFleet({ a: { modem: 'wwan1', offsetDb: -8 } })
    const radios = [...one.radios, ...other.radios]
    const found = healthOf({ radios, medians: [...one.medians, ...other.medians] })
    expect(found.map(({ status }) => status)).toEqual(['unknown', 'unknown', 'unknown'])
    const more = drivenFleet({ a: { modem: 'wwan0' }, ...healthy(5) })
    const all = healthOf({ radios: [...more.radios, ...other.radios], medians: [...more.medians, ...other.medians] })
    expect(all[0]).toMatchObject({ deviceId: 'a', modem: 'wwan1', status: 'fault', comparedDevices: 5 })
    expect(all.filter(({ status }) => status === 'ok')).toHaveLength(6)
  })

  it('stays that of a fault where a third of the neighbours is weak too', () => {
    const found = healthOf(
      drivenFleet({ ...healthy(6), p: { offsetDb: -6 }, q: { offsetDb: -6 }, r: { offsetDb: -6 } }),
    )
    expect(found.map(({ status }) => status)).toEqual([...Array(3).fill('fault'), ...Array(6).fill('ok')])
    for (const { deviceId, offsetDb } of found) expect(Number(offsetDb)).toBeCloseTo(deviceId.length === 1 ? -6 : 0, 0)
  })
})

it('compares only the same serving cell and RAT', () => {
  const { radios, medians } = drivenFleet({ ...healthy(5), weak: { offsetDb: -8 } })
  const changed = (fields: Partial<CellMedian>) =>
    byDevice(healthOf({ radios, medians: medians.map((m) => (m.deviceId === 'weak' ? { ...m, ...fields } : m)) })).weak
  expect(changed({})?.status).toBe('fault')
  for (const fields of [{ cellId: '1' }, { rat: 'nr-nsa' }, { rat: 'none' }, { rat: null }, { cellId: null }])
    expect(changed(fields)).toMatchObject({ status: 'unknown', sharedCells: 0 })
})

it('takes the cell identity, else the physical identity and the channel', () => {
  expect(sharedCellOf(cellMedian({ h3: 'h', pci: 7, arfcn: 6300 }))).toBe('h lte 10805003')
  expect(sharedCellOf(cellMedian({ h3: 'h', cellId: null, pci: 7, arfcn: 6300 }))).toBe('h lte 7/6300')
  expect(sharedCellOf(cellMedian({ cellId: null, pci: 7 }))).toBeNull()
  expect(sharedCellOf(cellMedian({ cellId: null, arfcn: 6300 }))).toBeNull()
})

it('gives each cell one voice, however often the radio was in it', () => {
  const { radios, medians } = drivenFleet({ ...healthy(5), weak: { offsetDb: -6 } })
  // A month in the garage, where the signal of this radio alone is better.
  const parked = Array.from({ length: 30 * 24 }, (_, hour) =>
    cellMedian({ deviceId: 'weak', h3: 'cell-0', hourMs: startMs + hour * msPerHour, rsrpDbm: -40 }),
  )
  const { weak } = byDevice(healthOf({ radios, medians: [...medians, ...parked] }))
  expect(weak).toMatchObject({ status: 'fault', sharedCells: 40 })
})

it('is less sure of cells from fewer than three separate hours', () => {
  const { radios, medians } = drivenFleet(healthy(6, { days: 1 }))
  // The same values in each case. Ten of the cells are from several hours.
  const widthOf = (hours: number) => {
    const moved = medians.map((median) => {
      const cell = Number(median.h3.slice('cell-'.length))
      return { ...median, hourMs: median.hourMs + (cell < 10 ? cell % hours : 0) * msPerHour }
    })
    const found = byDevice(healthOf({ radios, medians: moved }))['device-0']
    return Number(found?.offsetHighDb) - Number(found?.offsetLowDb)
  }
  expect(widthOf(1)).toBe(widthOf(2))
  expect(widthOf(3)).toBe(widthOf(4))
  expect(widthOf(1) / widthOf(3)).toBeCloseTo(1.5, 1)
})

describe('the offset of a model', () => {
  const fleet = (deaf: number) =>
    drivenFleet({
      ...healthy(7),
      ...Object.fromEntries(
        Array.from({ length: deaf }, (_, index) => [`deaf-${index}`, { model: 'deaf', offsetDb: -7 }]),
      ),
    })

  it('is no fault of its devices, if there are five', () => {
    const found = healthOf(fleet(5))
    expect(found.map(({ status }) => status)).toEqual(Array(12).fill('ok'))
    const { 'deaf-0': deaf, 'device-0': other } = byDevice(found)
    expect(Number(other?.modelOffsetDb) - Number(deaf?.modelOffsetDb)).toBeCloseTo(7, 0)
  })

  it('is that of the fleet for fewer devices, and for devices of no model', () => {
    expect(healthOf(fleet(4)).filter(({ status }) => status === 'fault')).toHaveLength(4)
    const { radios, medians } = fleet(5)
    const found = healthOf({ radios: radios.map((one) => ({ ...one, model: null })), medians })
    expect(new Set(found.map(({ modelOffsetDb }) => modelOffsetDb)).size).toBe(1)
    expect(found.filter(({ status }) => status === 'fault')).toHaveLength(5)
  })

  it('leaves a weak device of the model weak', () => {
    const { radios, medians } = drivenFleet({
      ...healthy(7),
      ...Object.fromEntries([0, 1, 2, 3, 4].map((index) => [`deaf-${index}`, { model: 'deaf', offsetDb: -7 }])),
      weak: { model: 'deaf', offsetDb: -12 },
    })
    const found = healthOf({ radios, medians })
    expect(found.map(({ status }) => status)).toEqual(['fault', ...Array(12).fill('ok')])
    expect(found[0]?.deviceId).toBe('weak')
    expect(found[0]?.offsetDb).toBeCloseTo(-5, 0)
  })

  it('does not matter where the whole fleet is of another model', () => {
    const found = healthOf(drivenFleet(healthy(8, { model: 'deaf', offsetDb: -7 })))
    expect(found.map(({ status, modelOffsetDb }) => [status, Math.round(Number(modelOffsetDb)) + 0])).toEqual(
      Array(8).fill(['ok', 0]),
    )
  })
})

describe('the day on which a radio became weak', () => {
  const sinceDayOf = (offsetOn: (day: number) => number) => {
    const { radios, medians } = drivenFleet({ ...healthy(5, { days: 30 }), weak: { days: 30, offsetOn } })
    const { weak } = byDevice(healthOf({ radios, medians }))
    return weak?.sinceAtMs == null ? [weak?.status, null] : [weak.status, (weak.sinceAtMs - startMs) / msPerDay]
  }

  it('is the day of the step', () => {
    expect(sinceDayOf((day) => (day < 10 ? 0 : -6))).toEqual(['fault', 10])
    expect(sinceDayOf((day) => (day < 2 ? 0 : -8))).toEqual(['fault', 2])
  })

  it('is the last of two steps', () => {
    expect(sinceDayOf((day) => (day < 5 ? 0 : day < 12 ? -4 : -12))).toEqual(['fault', 12])
  })

  it('is null without a step, with a single odd day, and after a repair', () => {
    expect(sinceDayOf(() => -6)).toEqual(['fault', null])
    expect(sinceDayOf((day) => (day === 20 ? -20 : -6))).toEqual(['fault', null])
    expect(sinceDayOf((day) => (day < 5 ? 0 : day < 25 ? -6 : 0))).toEqual(['fault', null])
    expect(sinceDayOf((day) => (day < 28 ? 0 : -6))).toEqual(['ok', null])
  })
})

const anyMedian = fc
  .record({
    deviceId: fc.constantFrom('a', 'b', 'c', 'd'),
    modem: fc.constantFrom(null, 'wwan0'),
    hour: fc.integer({ min: 0, max: 100 }),
    cell: fc.integer({ min: 0, max: 14 }),
    rsrpDbm: fc.integer({ min: -140, max: -60 }),
  })
  .map(({ hour, cell, ...fields }) => cellMedian({ ...fields, h3: `cell-${cell}`, hourMs: startMs + hour * msPerHour }))

const manyMedians = fc.array(anyMedian, { minLength: 100, maxLength: 600, size: 'max' })
const anyRadios = ['a', 'b', 'c', 'd'].flatMap((deviceId) => [radio(deviceId), radio(deviceId, { modem: 'wwan0' })])

describe('for any medians', () => {
  it('does not depend on the order of medians and radios', () => {
    fc.assert(
      fc.property(manyMedians, fc.integer(), (medians, seed) => {
        const draw = createDraw(seed)
        const shuffled = <Item>(items: readonly Item[]) =>
          items
            .map((item) => ({ item, place: draw() }))
            .sort((x, y) => x.place - y.place)
            .map(({ item }) => item)
        const found = compareMedians(anyRadios, medians, window)
        expect(compareMedians(shuffled(anyRadios), shuffled(medians), window)).toEqual(found)
      }),
      { numRuns: 50 },
    )
  })

  it('does not change if everything is received weaker', () => {
    fc.assert(
      fc.property(manyMedians, fc.integer({ min: -3_000, max: 3_000 }), (medians, hundredths) => {
        const moved = medians.map((median) => ({ ...median, rsrpDbm: Number(median.rsrpDbm) + hundredths / 100 }))
        expect(compareMedians(anyRadios, moved, window)).toEqual(compareMedians(anyRadios, medians, window))
      }),
      { numRuns: 50 },
    )
  })

  it('does not count medians of other radios, of other times or without a value', () => {
    fc.assert(
      fc.property(manyMedians, manyMedians, (medians, foreign) => {
        const others = foreign.flatMap((median) => [
          { ...median, deviceId: `other-${median.deviceId}` },
          { ...median, hourMs: median.hourMs - 30 * msPerDay },
          { ...median, hourMs: median.hourMs + 30 * msPerDay },
          { ...median, rsrpDbm: null },
          { ...median, rsrpDbm: Number.NaN },
          { ...median, rsrpDbm: 2_147_483_647 },
        ])
        expect(compareMedians(anyRadios, [...others, ...medians], window)).toEqual(
          compareMedians(anyRadios, medians, window),
        )
      }),
      { numRuns: 30 },
    )
  })

  it('keeps two organizations apart that are compared at the same time', () => {
    const columnsOf = (medians: readonly CellMedian[]) =>
      [...Map.groupBy(medians, ({ h3 }) => h3).values()].map((group) => ({
        length: group.length,
        radios: group.map(({ deviceId, modem }) =>
          anyRadios.findIndex((one) => one.deviceId === deviceId && one.modem === modem),
        ),
        hours: group.map(({ hourMs }) => hourMs / msPerHour),
        rsrpDbm: group.map(({ rsrpDbm }) => Number(rsrpDbm)),
      }))
    fc.assert(
      fc.property(manyMedians, manyMedians, (medians, foreign) => {
        const [own, other] = [createRadioComparison(anyRadios, window), createRadioComparison(anyRadios, window)]
        const [ownCells, otherCells] = [columnsOf(medians), columnsOf(foreign)]
        for (const index of Array(15).keys()) {
          if (ownCells[index]) own.addCell(ownCells[index])
          if (otherCells[index]) other.addCell(otherCells[index])
        }
        expect(own.healthOfAll()).toEqual(compareMedians(anyRadios, medians, window))
        expect(other.healthOfAll()).toEqual(compareMedians(anyRadios, foreign, window))
      }),
      { numRuns: 30 },
    )
  })
})

it('returns nothing for no radios, and unknown for radios without medians', () => {
  expect(compareMedians([], [cellMedian({})], window)).toEqual([])
  expect(compareMedians([radio('a')], [], window)).toMatchObject([
    { deviceId: 'a', status: 'unknown', modelOffsetDb: null },
  ])
})

it('refuses a window that is too long for its numbers', () => {
  expect(() => createRadioComparison([radio('a')], { fromHour: 0, toHour: 20_000 })).toThrow(RangeError)
  expect(() => createRadioComparison([radio('a')], { fromHour: 5, toHour: 5 })).toThrow(RangeError)
})
