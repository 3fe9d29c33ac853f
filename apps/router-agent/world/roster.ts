import { homeOperator, type Line, makeLanes, makeRoads, surroundingsOn } from './lines.ts'
import type { MissingValue } from './modem.ts'
import type { Surroundings } from './network.ts'
import { numberBetween, pick, uniform } from './noise.ts'
import { type Path, spotAt } from './paths.ts'
import { receive } from './radio.ts'
import type { ReceiverHabits } from './receiver.ts'
import { makeTimetable, standing, type Timetable } from './timetable.ts'

type DeviceClass = 'vehicle' | 'ship' | 'fixed-site'

/** The properties of one simulated router, derived from the seed and its number. */
export type RouterSpec = {
  serial: string
  name: string
  /** The road, city or sea lane, as people call it. */
  line: string
  model: string
  tags: string[]
  deviceClass: DeviceClass
  seed: number
  path: Path
  timetable: Timetable
  surroundings: Surroundings
  homePlmn: string
  /** The network of a second modem. Routers with one modem do not name it. */
  second: { plmn: string; surroundings: Surroundings } | undefined
  receiver: ReceiverHabits
  rfEveryMs: number
  missing: MissingValue
  firmware: string
  /** What a bad antenna or cable costs; 0 for most. */
  antennaLossDb: number
  /** Reports a longer history. Finding a weak antenna takes hours of it and of its neighbours. */
  hasLongHistory: boolean
  /** Reports a shift of the day before. */
  hasShift: boolean
  /** Reports a fault in its system samples. */
  fault: string | undefined
  /** Battery operation: awake for some time, then off. Undefined for routers that are always on. */
  sleep: { awakeMs: number; asleepMs: number } | undefined
}

const missingValues: readonly MissingValue[] = ['absent', 'absent', 'minus200', 'int32max', 'dash', 'ninetyNine']
const firmwares = ['4.2.0', '4.2.0', '4.2.1', '4.3.0']
const batteryRouters = 3
/** One of so many vehicles and ships has a shift of the day before. */
const shiftEvery = 5
/** The vehicles with a weak antenna by number, with its loss in dB. In a fleet of 200, each has three neighbours of its operator on its line. */
const weakAntennas: Record<number, number> = { 26: 6, 131: 7 }

/** Generates the fleet: 70 % vehicles, 12 % ships, the rest fixed sites. */
export function makeRoster(count: number, seed: number): RouterSpec[] {
  const roads = makeRoads(seed)
  const lanes = makeLanes(seed)
  const vehicles = Math.round(count * 0.7)
  const ships = Math.round(count * 0.12)
  const specs = Array.from({ length: count }, (_, index) => {
    const ofClass = (lines: Line[]) => lines[index % lines.length]
    if (index < vehicles) return vehicleOn(ofClass(roads), index + 1, seed)
    if (index < vehicles + ships) return shipOn(ofClass(lanes), index - vehicles + 1, seed)
    return siteBeside(ofClass(roads), index - vehicles - ships + 1, seed)
  }).filter((spec) => spec !== undefined)
  const weak = specs.filter(({ antennaLossDb }) => antennaLossDb > 0)
  const isNeighbour = ({ path, homePlmn }: RouterSpec) =>
    weak.some((one) => one.path === path && one.homePlmn === homePlmn)
  return specs.map((spec) => ({ ...spec, hasLongHistory: isNeighbour(spec) }))
}

function vehicleOn(line: Line | undefined, number: number, fleetSeed: number): RouterSpec | undefined {
  if (!line) return undefined
  const seed = fleetSeed * 100_003 + number
  const inCity = line.terrain === 'city'
  const stretchM = Math.min(line.path.lengthM, inCity ? 9_000 : numberBetween(16_000, 38_000, seed, 1))
  const hasService = serviceOn(line, seed)
  const fromM = firstOf(
    (draw) => numberBetween(0, line.path.lengthM - stretchM, seed, 2, draw),
    (startM) => hasService(startM) && hasService(startM + stretchM),
  )
  const timetable = makeTimetable(
    {
      fromM,
      toM: fromM + stretchM,
      speedMps: inCity ? [6, 13] : line.terrain === 'mountains' ? [13, 21] : [18, 25],
      depotMinutes: [6, 14],
      stopEveryM: inCity ? [3_500, 7_000] : [12_000, 24_000],
      stopMinutes: [5.5, 9],
      standsAt: hasService,
      lightEveryM: inCity ? [300, 900] : [2_500, 6_000],
      lightSeconds: [10, 60],
    },
    seed,
  )
  const kind = inCity ? 'Van' : 'Truck'
  return specOf('vehicle', line, timetable, number, seed, {
    name: `${kind} ${padded(number)} ${line.line}`,
    model: 'RF-520',
    rfEveryMs: pick([1_000, 2_000, 2_000, 5_000, 5_000, 5_000, 10_000, 10_000], seed, 3) ?? 5_000,
    receiver: receiverOf(100, inCity ? 5 : 2.5, 10_000, seed),
    // One modem has interference from an engine.
    fault: number === 7 ? 'modem_overheated' : undefined,
  })
}

function shipOn(line: Line | undefined, number: number, fleetSeed: number): RouterSpec | undefined {
  if (!line) return undefined
  const seed = fleetSeed * 200_003 + number
  const timetable = makeTimetable(
    {
      fromM: 0,
      toM: line.path.lengthM,
      speedMps: [7, 11],
      depotMinutes: [40, 90],
      stopEveryM: [4_000_000, 5_000_000],
      stopMinutes: [0, 0],
      standsAt: () => true,
      lightEveryM: [20_000, 40_000],
      lightSeconds: [0, 1],
    },
    seed,
  )
  return specOf('ship', line, timetable, number, seed, {
    name: `Ship ${padded(number)} ${line.line}`,
    model: 'RF-720M',
    rfEveryMs: 10_000,
    receiver: receiverOf(250, 3, 20_000, seed),
    fault: undefined,
  })
}

function siteBeside(line: Line | undefined, number: number, fleetSeed: number): RouterSpec | undefined {
  if (!line) return undefined
  const seed = fleetSeed * 300_007 + number
  const placeM = firstOf((draw) => numberBetween(0.02, 0.98, seed, 1, draw) * line.path.lengthM, serviceOn(line, seed))
  const spec = specOf('fixed-site', line, standing(placeM), number, seed, {
    name: `Site ${padded(number)} ${line.line}`,
    model: 'RF-310',
    rfEveryMs: pick([10_000, 30_000], seed, 3) ?? 10_000,
    receiver: { ...receiverOf(100, 3, 60_000, seed), source: uniform(seed, 4) < 0.3 ? 'manual' : 'gnss' },
    fault: undefined,
  })
  return number <= batteryRouters ? { ...spec, sleep: { awakeMs: 240_000, asleepMs: 180_000 } } : spec
}

/** Places on this line with service. Sites, depots and quays are only there. */
function serviceOn(line: Line, seed: number): (alongM: number) => boolean {
  const surroundings = surroundingsOn(line, homeOperator(line, seed))
  return (alongM) =>
    receive(surroundings, spotAt(line.path, alongM), alongM, 0, { seed, antennaLossDb: 0 }, undefined).rat !== 'none'
}

const draws = 40

/** The first random place that fits, or the first one when none does. */
function firstOf(drawPlace: (draw: number) => number, fits: (placeM: number) => boolean): number {
  const places = Array.from({ length: draws }, (_, draw) => drawPlace(draw))
  return places.find(fits) ?? drawPlace(0)
}

type ClassTraits = Pick<RouterSpec, 'name' | 'model' | 'rfEveryMs' | 'receiver' | 'fault'>

function specOf(
  deviceClass: DeviceClass,
  line: Line,
  timetable: Timetable,
  number: number,
  seed: number,
  traits: ClassTraits,
): RouterSpec {
  const homePlmn = homeOperator(line, seed)
  const [start = 'depot'] = line.line.split('–')
  return {
    ...traits,
    serial: `${traits.model.replace('-', '')}-${String(number).padStart(5, '0')}`,
    tags: ['demo', deviceClass, `line-${slug(line.line)}`, `depot-${slug(start)}`],
    line: line.line,
    deviceClass,
    seed,
    path: line.path,
    timetable,
    surroundings: surroundingsOn(line, homePlmn),
    homePlmn,
    second: deviceClass === 'vehicle' && number % 6 === 0 ? secondNetwork(line, homePlmn) : undefined,
    missing: pick(missingValues, seed, 11) ?? 'absent',
    firmware: pick(firmwares, seed, 12) ?? '4.2.0',
    sleep: undefined,
    antennaLossDb: (deviceClass === 'vehicle' && weakAntennas[number]) || 0,
    hasLongHistory: false,
    hasShift: deviceClass !== 'fixed-site' && number % shiftEvery === 2,
  }
}

/** The network of another operator on a line, if there is one. */
function secondNetwork(line: Line, homePlmn: string): RouterSpec['second'] {
  const plmn = line.plmns.find((operator) => operator !== homePlmn)
  return plmn === undefined ? undefined : { plmn, surroundings: surroundingsOn(line, plmn) }
}

const receiverOf = (refreshM: number, noiseM: number, repeatEveryMs: number, seed: number): ReceiverHabits => ({
  refreshM,
  noiseM,
  repeatEveryMs,
  sendsFixTime: uniform(seed, 13) < 0.5,
  source: 'gnss',
})

const padded = (number: number) => String(number).padStart(3, '0')

const slug = (text: string) =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036fł]/g, (character) => (character === 'ł' ? 'l' : ''))
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
