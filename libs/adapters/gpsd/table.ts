import { parseRfc3339 } from '#core/rfc3339'
import { derived, number, readNumber, unusable, words } from '../conversions.ts'
import { isRecord, listOf } from '../json.ts'
import type { MakerTable } from '../mapping.ts'

const source = 'gpsd JSON protocol (`gpsd_json(5)`)'

/** Returns epoch milliseconds of an ISO 8601 time. */
export function gpsdTime(value: unknown): unknown {
  return typeof value === 'string' ? (parseRfc3339(value) ?? unusable) : unusable
}

/** gpsd before 3.20 has the errors of longitude and latitude instead of `eph`. */
function horizontalError(errors: unknown): unknown {
  const [x, y] = listOf(errors).map(readNumber)
  return typeof x === 'number' && typeof y === 'number' ? Number(Math.hypot(x, y).toFixed(3)) : unusable
}

/** Versions without `uSat` have the list only. */
const usedSatellites = (list: unknown): unknown =>
  Array.isArray(list) ? list.filter((satellite) => isRecord(satellite) && satellite.used === true).length : unusable

/** A report of a time, position and velocity. */
export const tpvTable: MakerTable = {
  title: 'TPV: time, position and velocity',
  at: 'TPV',
  source,
  noValue: ['n/a', ''],
  mappings: [
    { from: 'mode', to: ['location.fix'], as: words({ 0: 'none', 1: 'none', 2: '2d', 3: '3d' }) },
    { from: 'time', to: ['location.fixTs'], as: derived('ISO 8601; also the time of the position', gpsdTime) },
    { from: 'lat', to: ['location.lat'], as: number },
    { from: 'lon', to: ['location.lon'], as: number },
    { from: 'altMSL', to: ['location.altitudeM'], as: number },
    { from: 'alt', to: ['location.altitudeM'], as: number },
    { from: 'speed', to: ['location.speedMps'], as: number },
    { from: 'track', to: ['location.headingDeg'], as: number },
    { from: 'eph', to: ['location.accuracyM'], as: number },
    {
      from: 'epx-epy',
      to: ['location.accuracyM'],
      as: derived('root of the sum of the squares of `epx` and `epy`', horizontalError),
    },
  ],
}

/** The satellites in view. Belongs to the next position. */
export const skyTable: MakerTable = {
  title: 'SKY: satellites',
  at: 'SKY',
  source,
  noValue: ['n/a', ''],
  mappings: [
    { from: 'hdop', to: ['location.hdop'], as: number },
    { from: 'uSat', to: ['location.satellites'], as: number },
    { from: 'satellites', to: ['location.satellites'], as: derived('number of elements with `used`', usedSatellites) },
  ],
}
