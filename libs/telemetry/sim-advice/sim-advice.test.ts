import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDraw } from '#test/draw'
import { createSimAdvisor, type ServiceVotes } from './sim-advice.ts'

const [ours, theirs] = ['26201', '26202']

type SimCell = { cell: number; minutes: number; noServiceMinutes: number }
type Sim = { plmn: string | null; days: number; cells: readonly SimCell[] }

const adviseBy = (
  fleet: Iterable<readonly [cell: number, votes: readonly ServiceVotes[]]>,
  { cells, ...facts }: Sim,
) => {
  const advisor = createSimAdvisor(1)
  for (const [cell, votes] of fleet) advisor.addCell(cell, votes)
  for (const { cell, minutes, noServiceMinutes } of cells) advisor.addMinutes(0, cell, minutes, noServiceMinutes)
  return advisor.adviceOf(0, facts)
}
type Fleet = Record<number, ServiceVotes[]>
const advise = (fleet: Fleet, sim: Sim) =>
  adviseBy(
    Object.entries(fleet).map(([cell, votes]) => [Number(cell), votes] as const),
    sim,
  )
const votes = (plmn: string, all: number, noService = 0): ServiceVotes => ({ plmn, votes: all, noService })
const minutes = (cell: number, all: number, noServiceMinutes = 0): SimCell => ({ cell, minutes: all, noServiceMinutes })

describe('the advice for a SIM', () => {
  it('multiplies its minutes in each cell by the share of the other operator there', () => {
    const fleet = { 1: [votes(ours, 10, 10), votes(theirs, 4, 1)], 2: [votes(ours, 10), votes(theirs, 10, 5)] }
    const sim = { plmn: ours, days: 2, cells: [minutes(1, 40, 40), minutes(2, 10)] }
    expect(advise(fleet, sim)).toEqual({
      minutesPerDay: 25,
      noServiceMinutesPerDay: 20,
      operators: [{ plmn: theirs, noServiceMinutesPerDay: (40 / 4 + 10 / 2) / 2, knownShare: 1 }],
      bestPlmn: theirs,
      gainMinutesPerDay: 12.5,
    })
  })

  it('changes nothing in cells in which the other operator is not known', () => {
    const fleet = { 1: [votes(ours, 10, 5), votes(theirs, 10)], 2: [votes(ours, 10, 10)] }
    const sim = { plmn: ours, days: 1, cells: [minutes(1, 60, 30), minutes(2, 40, 40)] }
    const [other] = advise(fleet, sim).operators
    expect(other).toEqual({ plmn: theirs, noServiceMinutesPerDay: 40, knownShare: 0.6 })
  })

  it('is null where less than half of the time is known, and where nothing is', () => {
    const fleet = { 1: [votes(ours, 10, 5), votes(theirs, 10)], 2: [votes(ours, 10, 5)] }
    const sim = { plmn: ours, days: 1, cells: [minutes(1, 49, 20), minutes(2, 51, 20)] }
    const unknown = { bestPlmn: null, gainMinutesPerDay: null, noServiceMinutesPerDay: 40 }
    expect(advise(fleet, sim)).toMatchObject({
      ...unknown,
      operators: [{ noServiceMinutesPerDay: null, knownShare: 0.49 }],
    })
    expect(advise({}, sim)).toMatchObject({ ...unknown, operators: [] })
  })

  it('recommends none if no other operator is better', () => {
    const fleet = { 1: [votes(ours, 10, 1), votes(theirs, 10, 9)] }
    const sim = { plmn: ours, days: 1, cells: [minutes(1, 100, 10)] }
    expect(advise(fleet, sim)).toMatchObject({ bestPlmn: null, gainMinutesPerDay: 0 })
  })

  it('recommends none for a gain below a hundredth of a minute', () => {
    const fleet = { 1: [votes(ours, 10, 10), votes(theirs, 10_000, 9_999)] }
    const sim = { plmn: ours, days: 1, cells: [minutes(1, 20, 20)] }
    expect(advise(fleet, sim)).toMatchObject({ bestPlmn: null, gainMinutesPerDay: 0 })
  })

  it('names every operator for a SIM that never had service', () => {
    const fleet = { 1: [votes(ours, 10, 2), votes(theirs, 10)] }
    const { operators, bestPlmn } = advise(fleet, { plmn: null, days: 1, cells: [minutes(1, 30, 30)] })
    expect(operators.map(({ plmn }) => plmn)).toEqual([theirs, ours])
    expect(bestPlmn).toBe(theirs)
  })

  it('leaves out operators of other countries that have no votes in its cells', () => {
    const fleet = { 1: [votes(ours, 10)], 2: [votes('20801', 10), votes(theirs, 10)], 3: [votes('20810', 10)] }
    const { operators } = advise(fleet, { plmn: ours, days: 1, cells: [minutes(1, 30), minutes(3, 1)] })
    expect(operators.map(({ plmn }) => plmn)).toEqual(['20810', theirs])
  })

  it('is the same in any order of cells, and within what is possible', () => {
    const anyVotes = fc
      .tuple(fc.constantFrom(ours, theirs, '26203'), fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 50 }))
      .map(([plmn, all, none]) => votes(plmn, all, Math.min(all, none)))
    const anyCells = fc.array(fc.uniqueArray(anyVotes, { selector: ({ plmn }) => plmn }), { maxLength: 20 })
    const anyTimes = fc.array(fc.tuple(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 0, max: 90 })), {
      maxLength: 20,
    })
    fc.assert(
      fc.property(anyCells, anyTimes, fc.integer({ min: 1, max: 30 }), (fleet, times, days) => {
        const cells = times.map(([all, none], cell) => minutes(cell, all, Math.min(all, none)))
        const advice = adviseBy(fleet.entries(), { plmn: ours, days, cells })
        const reversed = [...fleet.entries()].reverse().map(([cell, found]) => [cell, found.toReversed()] as const)
        const other = adviseBy(reversed, { plmn: ours, days, cells: cells.toReversed() })
        expect(other.gainMinutesPerDay ?? -1).toBeCloseTo(advice.gainMinutesPerDay ?? -1, 1)
        expect(other.operators.length).toBe(advice.operators.length)
        for (const { plmn, noServiceMinutesPerDay, knownShare } of advice.operators) {
          expect(plmn).not.toBe(ours)
          expect(knownShare).toBeLessThanOrEqual(1)
          if (noServiceMinutesPerDay === null) continue
          expect(noServiceMinutesPerDay).toBeGreaterThanOrEqual(0)
          expect(noServiceMinutesPerDay).toBeLessThanOrEqual(advice.minutesPerDay + 1e-9)
        }
        expect(advice.gainMinutesPerDay ?? 0).toBeLessThanOrEqual(advice.noServiceMinutesPerDay)
      }),
    )
  })
})

const roads = 30
const cellsOfRoad = 50
const vehicles = 60
const drivesOfHalf = 12

type Drive = { plmn: string; cells: SimCell[] }
type Country = { noServiceShare(plmn: string, cell: number): number }

/** Two operators that leave out different stretches of the same roads. */
function drawCountry(draw: () => number): Country {
  const lost = new Set<string>()
  for (const plmn of [ours, theirs]) {
    for (let road = 0; road < roads; road++) {
      // Some regions are an operator's own: it has few gaps there.
      const gaps = draw() < 0.5 ? 0 : 1 + Math.floor(draw() * 3)
      for (let gap = 0; gap < gaps; gap++) {
        const [from, length] = [Math.floor(draw() * cellsOfRoad), 3 + Math.floor(draw() * 10)]
        for (let at = from; at < from + length; at++) lost.add(`${plmn} ${road * cellsOfRoad + at}`)
      }
    }
  }
  return { noServiceShare: (plmn, cell) => (lost.has(`${plmn} ${cell}`) ? 0.85 : 0.02) }
}

/** Where a vehicle drives, and the cells in which it stops when it comes by. */
type Route = { roads: number[]; stops: Set<number> }

/** A drive over one of the vehicle's roads. Without service at random, as often as the operator is in each cell. */
function drawDrive(country: Country, route: Route, plmn: string, draw: () => number): Drive {
  const road = route.roads[Math.floor(draw() * route.roads.length)] ?? 0
  const cells = Array.from({ length: cellsOfRoad }, (_, at): SimCell => {
    const cell = road * cellsOfRoad + at
    const all = route.stops.has(cell) ? 10 + Math.floor(draw() * 30) : 1
    let none = 0
    for (let minute = 0; minute < all; minute++) if (draw() < country.noServiceShare(plmn, cell)) none++
    return minutes(cell, all, none)
  })
  return { plmn, cells }
}

type Vehicle = { route: Route; plmn: string; learned: Drive[]; keptSeeds: number[] }

/** Minutes without service on the second half of the drives, a vehicle, with the operator that `choose` gives each. */
function replay(country: Country, fleet: readonly Vehicle[], choose: (vehicle: Vehicle) => string): number {
  let total = 0
  for (const vehicle of fleet) {
    const plmn = choose(vehicle)
    for (const seed of vehicle.keptSeeds) {
      // The same seed for every choice: the same road, the same stops.
      for (const { noServiceMinutes } of drawDrive(country, vehicle.route, plmn, createDraw(seed)).cells)
        total += noServiceMinutes
    }
  }
  return total / fleet.length
}

function learn(fleet: readonly Vehicle[]) {
  const sums = new Map<number, Map<string, ServiceVotes>>()
  for (const { plmn, cells } of fleet.flatMap(({ learned }) => learned)) {
    for (const { cell, minutes: all, noServiceMinutes } of cells) {
      const ofCell = sums.get(cell) ?? new Map<string, ServiceVotes>()
      sums.set(cell, ofCell)
      const sum = ofCell.get(plmn) ?? votes(plmn, 0)
      ofCell.set(plmn, { plmn, votes: sum.votes + all, noService: sum.noService + noServiceMinutes })
    }
  }
  return [...sums].map(([cell, ofCell]) => [cell, [...ofCell.values()]] as const)
}

function drawFleet(country: Country, draw: () => number): Vehicle[] {
  return Array.from({ length: vehicles }, () => {
    const first = Math.floor(draw() * roads)
    const own = [first, (first + 1) % roads, (first + 2) % roads]
    const stops = own.flatMap((road) => [0, 1].map(() => road * cellsOfRoad + Math.floor(draw() * cellsOfRoad)))
    const route = { roads: own, stops: new Set(stops) }
    const plmn = draw() < 0.5 ? ours : theirs
    return {
      ...{ route, plmn },
      learned: Array.from({ length: drivesOfHalf }, () => drawDrive(country, route, plmn, draw)),
      keptSeeds: Array.from({ length: drivesOfHalf }, () => Math.floor(draw() * 2 ** 32)),
    }
  })
}

it('leaves fewer minutes without service on the other half of the drives than any fixed choice', () => {
  const results = Array.from({ length: 10 }, (_, seed) => {
    const draw = createDraw(seed * 7_919 + 1)
    const country = drawCountry(draw)
    const fleet = drawFleet(country, draw)
    const known = learn(fleet)
    const advised = ({ plmn, learned }: Vehicle) =>
      adviseBy(known, { plmn, days: drivesOfHalf, cells: learned.flatMap(({ cells }) => cells) }).bestPlmn ?? plmn
    return {
      asToday: replay(country, fleet, ({ plmn }) => plmn),
      allOfOne: replay(country, fleet, () => ours),
      allOfTheOther: replay(country, fleet, () => theirs),
      advised: replay(country, fleet, advised),
      changed: fleet.filter((vehicle) => advised(vehicle) !== vehicle.plmn).length,
    }
  })
  console.log(`minutes without service, a vehicle, on ${drivesOfHalf} drives that were not learned`)
  console.table(results)
  for (const { asToday, allOfOne, allOfTheOther, advised } of results)
    expect(advised).toBeLessThan(Math.min(asToday, allOfOne, allOfTheOther))
})
