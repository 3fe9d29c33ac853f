import { expect, test } from 'vitest'
import type { Sample } from '../sample.ts'
import { distanceM, spotAt } from './paths.ts'
import { makeRoster, type RouterSpec } from './roster.ts'
import { createSimulatedRouter } from './simulated-router.ts'
import { movementAt } from './timetable.ts'

const startMs = Date.UTC(2026, 10, 21, 8)
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const roster = makeRoster(200, 1)

const boot = (spec: RouterSpec, fromMs: number, bootedAtMs = fromMs) => ({
  fromMs,
  bootedAtMs,
  rebootReason: undefined,
  firmware: () => spec.firmware,
})

/** An hour as it happens: collected every ten seconds, as the agent does. */
function liveHour(spec: RouterSpec): Sample[] {
  const router = createSimulatedRouter(spec, boot(spec, startMs))
  return Array.from({ length: 360 }, (_, step) => router.collect(startMs + step * 10_000)).flat()
}

const some = roster.filter((_, index) => index % 7 === 0)
const hours = new Map(some.map((spec) => [spec, liveHour(spec)]))
const samples = [...hours.values()].flat()
const ofKind = (kind: Sample['kind']) => samples.filter((sample) => sample.kind === kind)
const share = (part: unknown[], whole: unknown[]) => part.length / whole.length

test('the roster has 200 routers of three classes with unique serials and depends only on the seed', () => {
  expect(roster).toHaveLength(200)
  expect(new Set(roster.map(({ serial }) => serial)).size).toBe(200)
  expect(makeRoster(200, 1).map(({ name, tags }) => [name, tags])).toEqual(roster.map(({ name, tags }) => [name, tags]))
  const classes = Map.groupBy(roster, ({ deviceClass }) => deviceClass)
  expect([classes.get('vehicle')?.length, classes.get('ship')?.length, classes.get('fixed-site')?.length]).toEqual([
    140, 24, 36,
  ])
  for (const { tags, deviceClass, name, serial } of roster) {
    expect(tags).toContain(deviceClass)
    for (const text of [...tags, name, serial]) expect(text).toMatch(/^\P{Cc}{1,64}$/u)
  }
})

test('two vehicles have a weak antenna; they and their neighbours report a long history', () => {
  const weak = roster.filter(({ antennaLossDb }) => antennaLossDb > 0)
  expect(weak.map(({ antennaLossDb }) => antennaLossDb)).toEqual([6, 7])
  for (const spec of weak) {
    const atMs = startMs + hourMs
    // A weaker modem changes its cell at other places, so that only the same cell at the same time can be compared.
    const levels = (one: RouterSpec) =>
      new Map(
        createSimulatedRouter(one, boot(one, startMs))
          .collect(atMs)
          .flatMap(({ ts, cellId, rsrpDbm }) =>
            typeof rsrpDbm === 'number' ? [[`${ts} ${cellId}`, rsrpDbm] as const] : [],
          ),
      )
    const whole = levels({ ...spec, antennaLossDb: 0 })
    const losses = [...levels(spec)].flatMap(([key, level]) => {
      const without = whole.get(key)
      return without === undefined ? [] : [without - level]
    })
    expect(losses.sort((a, b) => a - b)[Math.floor(losses.length / 2)]).toBeCloseTo(spec.antennaLossDb, 0)
    const neighbours = roster.filter(({ path, homePlmn }) => path === spec.path && homePlmn === spec.homePlmn)
    expect(neighbours.length).toBeGreaterThanOrEqual(4)
    expect(neighbours.every(({ hasLongHistory }) => hasLongHistory)).toBe(true)
  }
  expect(roster.filter(({ hasLongHistory }) => hasLongHistory).length).toBeLessThan(10)
})

test('a position is a continuous function of seed and time', () => {
  const placeOf = (spec: RouterSpec, atMs: number) => {
    const { lat, lon } = spotAt(spec.path, movementAt(spec.timetable, atMs).alongM)
    return [lat, lon] as const
  }
  for (const spec of some) {
    for (let atMs = startMs; atMs < startMs + 3 * hourMs; atMs += 7_000) {
      const place = placeOf(spec, atMs)
      expect(placeOf(spec, atMs)).toEqual(place)
      expect(distanceM(place, placeOf(spec, atMs + 1_000))).toBeLessThan(30)
    }
  }
})

test('two simulations of the same hour return equal samples', () => {
  for (const spec of some.slice(0, 5)) expect(liveHour(spec)).toEqual(hours.get(spec))
})

test('samples are in order, with at most one of each kind and modem per millisecond', () => {
  for (const taken of hours.values()) {
    expect(taken.map(({ ts }) => ts)).toEqual(taken.map(({ ts }) => ts).sort((a, b) => a - b))
    expect(new Set(taken.map(({ ts, kind, modem }) => `${ts} ${kind} ${modem}`)).size).toBe(taken.length)
  }
})

test('fixes of moving vehicles are about 100 m apart and repeated in between with the same speed', () => {
  const [truck] = some
  const fixes = (hours.get(truck as RouterSpec) ?? []).filter(({ kind, fix }) => kind === 'location' && fix === '3d')
  const places = fixes.map(({ lat, lon }) => `${lat},${lon}`)
  expect(new Set(places).size).toBeLessThan(places.length)
  for (const [index, fix] of fixes.entries()) {
    const before = fixes[index - 1]
    if (before && places[index] === places[index - 1]) expect(fix.speedMps).toBe(before.speedMps)
  }
})

test('readings are within the range of a modem, except for sentinels', () => {
  const within = (field: string, from: number, to: number) => {
    const values = ofKind('cellular').map((sample) => sample[field])
    const readings = values.filter((value) => typeof value === 'number' && ![-200, 99, 2_147_483_647].includes(value))
    expect(readings.length).toBeGreaterThan(1_000)
    expect(Math.min(...(readings as number[]))).toBeGreaterThanOrEqual(from)
    expect(Math.max(...(readings as number[]))).toBeLessThanOrEqual(to)
  }
  within('rsrpDbm', -140, -44)
  within('rsrqDb', -20, -3)
  within('sinrDb', -20, 30)
  within('rssiDbm', -113, -30)
  within('pci', 0, 1_007)
  within('cellId', 256, 2 ** 28 - 1)
})

test('the fleet has the conditions of a real fleet', () => {
  const cellular = ofKind('cellular')
  const ofRat = (rat: string) => cellular.filter((sample) => sample.rat === rat)
  for (const rat of ['lte', 'nr-nsa', 'umts', 'none']) expect(ofRat(rat).length, rat).toBeGreaterThan(10)
  expect(share(ofRat('none'), cellular)).toBeLessThan(0.25)
  for (const sentinel of [-200, 2_147_483_647, '-', 99]) {
    expect(cellular.filter((sample) => sample.sinrDb === sentinel).length, String(sentinel)).toBeGreaterThan(0)
  }
  expect(ofRat('nr-nsa').every(({ nrRsrpDbm }) => typeof nrRsrpDbm === 'number')).toBe(true)
  expect(ofKind('location').some(({ fix }) => fix === 'none')).toBe(true)
  expect(new Set(cellular.map(({ cellId }) => cellId)).size).toBeGreaterThan(100)
})

test('at any time some vehicles stand and most move, and each stops for over five minutes within three hours', () => {
  const vehicles = roster.filter(({ deviceClass }) => deviceClass === 'vehicle')
  const standing = vehicles.filter(({ timetable }) => movementAt(timetable, startMs).speedMps === 0)
  expect(share(standing, vehicles)).toBeGreaterThan(0.15)
  expect(share(standing, vehicles)).toBeLessThan(0.65)
  for (const { timetable } of vehicles) {
    expect(timetable.legs.some(({ fromM, toM, durationMs }) => fromM === toM && durationMs >= 300_000)).toBe(true)
    expect(timetable.cycleMs).toBeLessThan(3 * hourMs)
  }
})

test('no router is without service for more than five minutes', () => {
  const sleepers = roster.filter(({ sleep }) => sleep).map((spec) => [spec, liveHour(spec)] as const)
  expect(sleepers).toHaveLength(3)
  for (const [{ name, deviceClass }, taken] of [...hours, ...sleepers]) {
    const measured = taken.filter(({ kind }) => kind === 'cellular')
    const reachable = measured.filter(({ rat }) => rat !== 'none' || deviceClass === 'ship').map(({ ts }) => ts)
    const waitsMs = [...reachable, startMs + hourMs].map((ts, index) => ts - (reachable[index - 1] ?? startMs))
    expect(Math.max(...waitsMs), name).toBeLessThan(300_000)
  }
})

test('without a bearer the link is down', () => {
  for (const spec of some.slice(0, 8)) {
    const router = createSimulatedRouter(spec, boot(spec, startMs))
    for (let atMs = startMs; atMs < startMs + hourMs; atMs += spec.rfEveryMs) {
      const last = router.collect(atMs).findLast(({ kind }) => kind === 'cellular')
      if (last && last.ts === atMs && !spec.sleep) {
        expect(router.isLinkUp(atMs)).toBe(last.rat !== 'none' || spec.deviceClass === 'ship')
      }
    }
  }
})

test('two hours of history fit in a few batches and have longer intervals than live data', () => {
  for (const spec of some) {
    const history = createSimulatedRouter(spec, boot(spec, startMs, startMs + 2 * hourMs)).collect(startMs + 2 * hourMs)
    expect(history.length).toBeGreaterThan(200)
    expect(history.length).toBeLessThan(3_000)
  }
})

test('one vehicle and ship in five reports a shift of the day before, ahead of its history and with fewer samples', () => {
  const workers = roster.filter(({ hasShift }) => hasShift)
  expect(new Set(workers.map(({ deviceClass }) => deviceClass))).toEqual(new Set(['vehicle', 'ship']))
  expect(share(workers, roster)).toBeLessThan(0.2)
  for (const spec of workers) {
    const nowMs = startMs + 2 * hourMs
    const shift = { fromMs: startMs - 26 * hourMs, toMs: startMs - 20 * hourMs }
    const taken = createSimulatedRouter(spec, { ...boot(spec, startMs, nowMs), shift }).collect(nowMs)
    const earlier = taken.filter(({ ts }) => ts < startMs)
    expect(taken.slice(0, earlier.length)).toEqual(earlier)
    expect(earlier.every(({ ts }) => ts >= shift.fromMs && ts < shift.toMs)).toBe(true)
    expect(earlier.length).toBeGreaterThan(6 * 100)
    expect(earlier.length).toBeLessThan(6 * 700)
    expect(earlier.every(({ kind, uptimeS }) => kind !== 'system' || Number(uptimeS) > 0)).toBe(true)
    expect(Math.min(...taken.slice(earlier.length).map(({ ts }) => ts))).toBeLessThan(startMs + minuteMs)
  }
})

test('some vehicles have two modems of two operators, which report at the same times', () => {
  const dual = roster.filter(({ second }) => second !== undefined)
  expect(dual.length).toBeGreaterThan(5)
  const spec = dual.find(({ sleep }) => sleep === undefined)
  if (!spec) throw new Error('No router has two modems.')
  const [first = [], second = []] = ['wwan0', 'wwan1'].map((modem) =>
    liveHour(spec).filter((sample) => sample.modem === modem),
  )
  const timesOf = (taken: Sample[]) => taken.filter(({ kind }) => kind === 'cellular').map(({ ts }) => ts)
  expect(timesOf(first)).toEqual(timesOf(second))
  const operatorsOf = (taken: Sample[]) => new Set(taken.flatMap(({ plmn }) => (plmn === undefined ? [] : [plmn])))
  expect(operatorsOf(first)).toEqual(new Set([spec.homePlmn]))
  expect(operatorsOf(second)).toEqual(new Set([spec.second?.plmn]))
})
