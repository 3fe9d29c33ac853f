import { spotAt } from '../world/paths.ts'
import type { RouterSpec } from '../world/roster.ts'

type ExamplePlace = {
  name: string
  tags: string[]
  area: { type: 'Circle'; lat: number; lon: number; radiusM: number }
}

const depotRadiusM = 400
const portRadiusM = 1_000

const ofClass = (specs: readonly RouterSpec[], deviceClass: RouterSpec['deviceClass']) =>
  specs.filter((spec) => spec.deviceClass === deviceClass)

/** The first router of each line. */
const oneOfEachLine = (specs: readonly RouterSpec[]): RouterSpec[] => [
  ...new Map(specs.toReversed().map((spec) => [spec.line, spec])).values(),
]

function circle({ path }: RouterSpec, alongM: number, radiusM: number): ExamplePlace['area'] {
  const { lat, lon } = spotAt(path, alongM)
  return { type: 'Circle', lat, lon, radiusM }
}

/** A depot on each road and in each city, where a vehicle begins its tour, and the ports at both ends of each sea lane. */
export function placesOf(specs: readonly RouterSpec[]): ExamplePlace[] {
  const depots = oneOfEachLine(ofClass(specs, 'vehicle')).map((spec) => ({
    name: depotName(spec),
    tags: ['depot'],
    area: circle(spec, spec.timetable.legs[0]?.fromM ?? 0, depotRadiusM),
  }))
  const ports = oneOfEachLine(ofClass(specs, 'ship')).flatMap((spec) =>
    spec.line.split('–').map((town, index) => ({
      name: `Port ${town}`,
      tags: ['port'],
      area: circle(spec, index === 0 ? 0 : spec.path.lengthM, portRadiusM),
    })),
  )
  return [...depots, ...ports]
}

const depotName = ({ line }: RouterSpec) => `Depot ${line}`

/** The depot whose visits open alerts: in a city, because vehicles come by there more often. */
function watchedDepot(specs: readonly RouterSpec[]): string | undefined {
  const vehicles = ofClass(specs, 'vehicle')
  const vehicle = vehicles.find(({ surroundings }) => surroundings.terrain === 'city') ?? vehicles[0]
  return vehicle && depotName(vehicle)
}

/** The names of the rules whose alerts the set-up waits for. */
export const failedJobRule = 'Job failed'
export const oldProfileRule = 'Profile not applied'

type ExampleRule = {
  name: string
  severity: 'info' | 'warning' | 'critical'
  condition: Record<string, unknown>
  tags?: string[]
}

/** Alert rules of several conditions. `placeIds`: the ids of the places by name. */
export function rulesOf(specs: readonly RouterSpec[], placeIds: Readonly<Record<string, string>>): ExampleRule[] {
  const depot = watchedDepot(specs)
  const placeId = depot === undefined ? undefined : placeIds[depot]
  return [
    {
      name: 'Ship without a report for 15 minutes',
      severity: 'critical',
      condition: { kind: 'offline', forMinutes: 15 },
      tags: ['ship'],
    },
    {
      name: 'Router too hot',
      severity: 'critical',
      condition: { kind: 'high_temperature', temperatureAboveC: 75, forMinutes: 3 },
    },
    {
      name: 'Weak signal of a vehicle',
      severity: 'warning',
      condition: { kind: 'weak_signal', rsrpBelowDbm: -115, forMinutes: 2 },
      tags: ['vehicle'],
    },
    { name: 'Weak antenna', severity: 'warning', condition: { kind: 'radio_fault' } },
    { name: failedJobRule, severity: 'warning', condition: { kind: 'job_failed' } },
    { name: oldProfileRule, severity: 'warning', condition: { kind: 'profile_not_applied', forMinutes: 5 } },
    ...(placeId === undefined
      ? []
      : [
          {
            name: `At the ${depot?.replace('Depot', 'depot')}`,
            severity: 'info' as const,
            condition: { kind: 'entered_place', placeId, forMinutes: 0 },
          },
        ]),
  ]
}

const profiledShips = 10
const shipsBehind = 4

/** The routers that the examples name, by serial. */
export type Cast = {
  /** They receive the first version of the profile. */
  ships: string[]
  /** Those that also receive the second version. */
  updatedShips: string[]
  /** An update of these fails. Later updates reach only the site. */
  failing: { site: string | undefined; ship: string | undefined }
}

/** Chooses the routers of the examples. A small fleet has fewer, or none. */
export function castOf(specs: readonly RouterSpec[]): Cast {
  const ships = ofClass(specs, 'ship').map(({ serial }) => serial)
  const profiled = ships.slice(0, profiledShips)
  return {
    ships: profiled,
    updatedShips: profiled.slice(Math.min(shipsBehind, Math.floor(profiled.length / 2))),
    failing: { site: ofClass(specs, 'fixed-site').find(({ sleep }) => !sleep)?.serial, ship: ships.at(-1) },
  }
}

export const vehicleProfile = {
  name: 'Vehicle with guest Wi-Fi',
  description: 'For vehicles whose passengers use the Wi-Fi.',
  model: 'RF-520',
  settings: {
    wifi: { ssid: 'guest', isolated: true, maxClients: 12 },
    mobile: { apn: 'fleet.iot', dailyLimitMb: 2_000 },
  },
}

/** What the second version of the standard profile changes. */
export const profileChange = { settings: { reporting: { everySeconds: 15 } } }

/** Ends within minutes. */
export const siteRollout = { canary: 2, stages: [{ devices: 10 }], pauseWhenFailedPct: 25 }

/** Remains open for twelve hours: four waits of three hours each. */
export const vehicleRollout = {
  canary: 4,
  stages: [{ percent: 10 }, { percent: 25 }, { percent: 40 }],
  stageWaitMinutes: 180,
  pauseWhenFailedPct: 10,
}
