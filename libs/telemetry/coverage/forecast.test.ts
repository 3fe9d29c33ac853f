import fc from 'fast-check'
import { cellToChildren, cellToLatLng, cellToParent, latLngToCell } from 'h3-js'
import { expect, it } from 'vitest'
import { forecastFromTallies } from '#test/forecast-tallies'
import { type CellTallies, type ForecastSegment, forecastResolutions, placeSegments, sourceCell } from './forecast.ts'
import { summarizeForecast } from './forecast-summary.ts'
import { addSinrVotes, addVoteGroup, emptySignalTally, type SignalTally, type VoteGroup } from './signal-tally.ts'

const [lat, lon] = [51.9, -8.47]
const here = latLngToCell(lat, lon, 10)
const siblings = cellToChildren(cellToParent(here, 9), 10).filter((h3) => h3 !== here)

type CellVotes = VoteGroup & { h3: string; sinrBin?: number }

const votes = (h3: string, fields: Partial<CellVotes> = {}): CellVotes => ({
  ...{ h3, rat: 'lte', plmn: '27201', rsrpBin: -100, votes: 1 },
  ...fields,
})

function tally(groups: readonly CellVotes[]): CellTallies {
  const tallies = new Map<string, SignalTally>()
  for (const group of groups) {
    for (const resolution of forecastResolutions) {
      const h3 = resolution === 10 ? group.h3 : cellToParent(group.h3, resolution)
      const known = tallies.get(h3) ?? emptySignalTally()
      tallies.set(h3, known)
      addVoteGroup(known, group)
      if (group.sinrBin !== undefined) addSinrVotes(known, group.sinrBin, group.votes)
    }
  }
  return tallies
}

const segmentIn = (h3: string, fromM = 0) => {
  const [middleLat, middleLon] = cellToLatLng(h3)
  return { fromM, toM: fromM + 100, lat: middleLat, lon: middleLon }
}

function forecastOf(groups: readonly CellVotes[], h3 = here, devices = 3): ForecastSegment {
  const tallies = tally(groups)
  const [segment] = forecastFromTallies(
    placeSegments([segmentIn(h3)]),
    tallies,
    new Map([...tallies.keys()].map((cell) => [cell, devices])),
  )
  if (!segment) throw new Error('There is no segment.')
  return segment
}

const group = fc.record<CellVotes>({
  h3: fc.constantFrom(here, ...siblings),
  rat: fc.constantFrom('lte', 'nr-nsa', 'hspa', 'none', null),
  plmn: fc.constantFrom('27201', '27202', null),
  rsrpBin: fc.option(fc.integer({ min: -140, max: -50 })),
  votes: fc.integer({ min: 1, max: 40 }),
})

it('places a segment in the cell of its middle and in the cells around it', () => {
  const [lats, lons] = [fc.double({ min: -90, max: 90, noNaN: true }), fc.double({ min: -180, max: 180, noNaN: true })]
  fc.assert(
    fc.property(lats, lons, (lat, lon) => {
      const finest = latLngToCell(lat, lon, 10)
      const around = [9, 8, 7].map((resolution) => cellToParent(finest, resolution))
      expect(placeSegments([{ fromM: 0, toM: 1, lat, lon }])).toMatchObject([{ cells: [finest, ...around] }])
    }),
  )
})

it('uses the finest cell with five votes, otherwise the finest cell with any vote', () => {
  const cells = placeSegments([{ fromM: 0, toM: 1, lat, lon }])[0]?.cells ?? []
  expect(sourceCell(cells, tally([votes(here, { votes: 5 })]))).toEqual({ h3: here, h3Resolution: 10 })
  const four = [votes(here, { votes: 2 }), votes(siblings[0] ?? '', { votes: 3 })]
  expect(sourceCell(cells, tally(four))).toEqual({ h3: cellToParent(here, 9), h3Resolution: 9 })
  expect(sourceCell(cells, tally([votes(here)]))).toEqual({ h3: here, h3Resolution: 10 })
  expect(sourceCell(cells, tally([votes(siblings[0] ?? '')]))).toMatchObject({ h3Resolution: 9 })
  expect(sourceCell(cells, new Map())).toBeUndefined()
})

it('returns null without votes', () => {
  expect(forecastOf([])).toMatchObject({
    ...{ h3: here, h3Resolution: 10, samples: 0, devices: 0, serviceRatio: null, quality: null, confidence: 'none' },
    ...{ rsrpDbm: null, sinrDb: null, byRat: {}, byPlmn: {} },
  })
})

it('uses only the votes of a cell with many votes, and those around a cell with few', () => {
  const around = votes(siblings[0] ?? '', { rsrpBin: -70, votes: 60 })
  const many = forecastOf([around, votes(here, { rsrpBin: -110, votes: 60 })])
  expect(many).toMatchObject({ samples: 60, rsrpDbm: { p10: -110, p50: -110 }, quality: 'poor', confidence: 'high' })
  const one = forecastOf([around, votes(here, { rsrpBin: -110 })])
  expect(one.rsrpDbm).toMatchObject({ p10: -110, p50: -70, p90: -70 })
  expect(one).toMatchObject({ h3Resolution: 9, samples: 61 })
})

it('uses no coarser cell if the finest has 30 votes', () => {
  const groups = [votes(siblings[0] ?? '', { rsrpBin: -70, votes: 500 }), votes(here, { rsrpBin: -110, votes: 30 })]
  const all = tally(groups)
  const finestOnly = new Map([[here, all.get(here) ?? emptySignalTally()]])
  const segments = placeSegments([segmentIn(here)])
  expect(forecastFromTallies(segments, all)).toEqual(forecastFromTallies(segments, finestOnly))
})

it('counts an LTE vote as half a vote for nr-nsa and as none for nr-sa', () => {
  const { byRat } = forecastOf([
    votes(here, { rat: 'lte', rsrpBin: -90, votes: 20 }),
    votes(here, { rat: 'nr-nsa', rsrpBin: -120, votes: 1 }),
    votes(here, { rat: 'nr-sa', rsrpBin: -60, votes: 1 }),
  ])
  expect(byRat['nr-nsa']?.rsrpDbm.p50).toBe(-90)
  expect(byRat['nr-sa']?.rsrpDbm).toEqual({ p10: -60, p50: -60, p90: -60 })
})

it('returns ordered percentiles within the measured range, and RAT shares that add up to the service ratio', () => {
  fc.assert(
    fc.property(fc.array(group, { minLength: 1, maxLength: 12 }), (groups) => {
      const segment = forecastOf(groups)
      const served = groups.filter(({ rat }) => rat !== 'none')
      const bins = served.flatMap(({ rsrpBin }) => rsrpBin ?? [])
      const spreads = [segment.rsrpDbm, ...Object.values(segment.byRat).map(({ rsrpDbm }) => rsrpDbm)]
      for (const spread of spreads) {
        if (!spread || spread.p10 === null || spread.p50 === null || spread.p90 === null) continue
        expect(spread.p10).toBeLessThanOrEqual(spread.p50)
        expect(spread.p50).toBeLessThanOrEqual(spread.p90)
        expect(spread.p10).toBeGreaterThanOrEqual(Math.min(...bins))
        expect(spread.p90).toBeLessThanOrEqual(Math.max(...bins))
      }
      const ratio = segment.serviceRatio ?? -1
      expect(ratio).toBeGreaterThanOrEqual(0)
      expect(ratio).toBeLessThanOrEqual(1)
      const shares = Object.values(segment.byRat).reduce((sum, { share }) => sum + share, 0)
      expect(shares).toBeCloseTo(ratio, 9)
    }),
  )
})

it('forecasts the measured values if all cells agree', () => {
  fc.assert(
    fc.property(fc.integer({ min: -140, max: -50 }), fc.integer({ min: 1, max: 50 }), (rsrpBin, count) => {
      const segment = forecastOf([votes(here, { rsrpBin, votes: count, sinrBin: 7 })])
      expect(segment.rsrpDbm).toEqual({ p10: rsrpBin, p50: rsrpBin, p90: rsrpBin })
      expect(segment.sinrDb).toEqual({ p10: 7, p50: 7 })
      expect(segment.byPlmn['27201']).toEqual({
        ...{ samples: count, serviceRatio: 1, best: false },
        rsrpDbm: { p10: rsrpBin, p50: rsrpBin, p90: rsrpBin },
      })
    }),
  )
})

it('does not report a segment as dead because of one vote without service', () => {
  const around = votes(siblings[0] ?? '', { votes: 40 })
  const segment = forecastOf([around, votes(here, { rat: 'none', rsrpBin: null })])
  expect(segment.serviceRatio).toBeGreaterThan(0.95)
  expect(summarizeForecast([segment])).toMatchObject({ deadM: 0, poorM: 0, knownM: 100 })
})

/** A row of segments of 100 m with these letters: dead, poor, good, or unknown. */
function row(letters: string): ForecastSegment[] {
  const cellOf: Record<string, readonly CellVotes[]> = {
    d: [votes(here, { rat: 'none', plmn: '27201', rsrpBin: null, votes: 9 })],
    p: [votes(here, { rsrpBin: -110, votes: 9 })],
    g: [votes(here, { rsrpBin: -80, votes: 9 })],
    '-': [],
  }
  return [...letters].map((letter, index) => ({
    ...forecastOf(cellOf[letter] ?? []),
    ...{ fromM: index * 100, toM: (index + 1) * 100 },
  }))
}

it('adds up dead, poor and known metres, and joins adjacent dead segments', () => {
  expect(summarizeForecast(row('gddp--dg'))).toEqual({
    ...{ knownM: 600, deadM: 300, poorM: 100 },
    deadZones: [
      { fromM: 100, toM: 300, lengthM: 200 },
      { fromM: 600, toM: 700, lengthM: 100 },
    ],
    byPlmn: { '27201': { knownM: 600, deadM: 300, poorM: 100, rsrpP50Dbm: -80 } },
    recommendedPlmn: '27201',
  })
  expect(summarizeForecast([])).toEqual({
    ...{ knownM: 0, deadM: 0, poorM: 0, deadZones: [], byPlmn: {}, recommendedPlmn: null },
  })
})

it('does not count more dead and poor metres than known metres', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('d', 'p', 'g', '-'), { maxLength: 30 }), (letters) => {
      const { knownM, deadM, poorM, deadZones } = summarizeForecast(row(letters.join('')))
      expect(knownM).toBe(100 * letters.filter((letter) => letter !== '-').length)
      expect(deadM).toBe(100 * letters.filter((letter) => letter === 'd').length)
      expect(poorM).toBe(100 * letters.filter((letter) => letter === 'p').length)
      expect(deadZones.reduce((sum, { lengthM }) => sum + lengthM, 0)).toBe(deadM)
    }),
    { numRuns: 40 },
  )
})

it('recommends the operator with the fewest metres without service, however weak, if enough of the route is known', () => {
  const weak = votes(here, { plmn: '27202', rsrpBin: -110, votes: 9 })
  const strong = votes(here, { plmn: '27201', rsrpBin: -80, votes: 9 })
  const lost = votes(here, { plmn: '27201', rat: 'none', rsrpBin: null, votes: 9 })
  const along = (...cells: readonly CellVotes[][]) =>
    summarizeForecast(cells.map((cell, index) => ({ ...forecastOf(cell), fromM: index * 100, toM: index * 100 + 100 })))
      .recommendedPlmn
  expect(along([strong, weak], [strong, weak], [lost, weak])).toBe('27202')
  expect(along([lost, weak], [strong, weak])).toBe('27202')
  expect(along([strong, weak], [strong, weak])).toBe('27201')
  // Both are without service on 100.1 m. On a route of several lines, the second length is 2e-14 m longer.
  const gone = votes(here, { plmn: '27202', rat: 'none', rsrpBin: null, votes: 9 })
  const [first, second, third] = [
    [strong, weak],
    [strong, gone],
    [lost, weak],
  ].map((cell) => forecastOf(cell))
  const lengths = [
    { ...first, fromM: 0, toM: 100.1 },
    { ...second, fromM: 100.1, toM: 200.2 },
    { ...third, fromM: 200.2, toM: 300.3 },
  ] as ForecastSegment[]
  expect(summarizeForecast(lengths).recommendedPlmn).toBe('27201')
})

it('recommends the stronger of two operators with service everywhere, and no operator that is hardly known', () => {
  const withOperators = (...operators: readonly CellVotes[]) => forecastOf(operators)
  const strong = votes(here, { plmn: '27201', rsrpBin: -80, votes: 9 })
  const weak = votes(here, { plmn: '27202', rsrpBin: -110, votes: 9 })
  const rare = votes(here, { plmn: '27203', rsrpBin: -60, votes: 9 })
  const route = [withOperators(strong, weak), withOperators(strong, weak), withOperators(strong, weak, rare)].map(
    (segment, index) => ({ ...segment, fromM: index * 100, toM: index * 100 + 100 }),
  )
  const { recommendedPlmn, byPlmn } = summarizeForecast(route)
  expect(byPlmn['27203']).toMatchObject({ knownM: 100 })
  expect(recommendedPlmn).toBe('27201')
  expect(route[0]?.byPlmn).toMatchObject({ '27201': { best: true }, '27202': { best: false } })
})
