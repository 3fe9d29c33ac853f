import { createHash } from 'node:crypto'
import { distanceM } from '#telemetry/geo/geo'

export const deviceClasses = ['vehicle', 'ship', 'fixed'] as const
export type DeviceClass = (typeof deviceClasses)[number]

/** The radius and minimum duration of a dwell. */
export type DwellPolicy = { radiusM: number; minimumMs: number }

const minuteMs = 60_000

/** The radius is about the distance at which receivers report a new fix. */
export const dwellPolicies: Record<DeviceClass, DwellPolicy> = {
  vehicle: { radiusM: 100, minimumMs: 5 * minuteMs },
  ship: { radiusM: 500, minimumMs: 30 * minuteMs },
  fixed: { radiusM: 250, minimumMs: 30 * minuteMs },
}

/** A dwell. `departedAtMs` and `firstOutsideAtMs` are null until a fix outside it has arrived. */
export type Dwell = {
  arrivedAtMs: number
  departedAtMs: number | null
  firstOutsideAtMs: number | null
  /** End of the newest fix inside. */
  lastInsideAtMs: number
  /** The first fix. All others are within the radius of the policy around it. */
  anchorLat: number
  anchorLon: number
  lat: number
  lon: number
  radiusM: number
  fixCount: number
  /** Of the least accurate fix. */
  accuracyM: number
  gap: boolean
}

/** What the row of an open dwell says about its fixes. */
export type OpenDwellSummary = Omit<Dwell, 'departedAtMs' | 'firstOutsideAtMs'>

/**
 * Returns whether no dwell can contain both fixes, so that the detector restarts at `fix` whatever the earlier fixes are.
 * Results before and after such a fresh start do not depend on each other, so late data only requires a realignment from
 * one fresh start to the next.
 */
export const isFreshStart = (previous: Position, fix: Position, policy: DwellPolicy): boolean =>
  distanceM(previous, fix) > 2 * policy.radiusM

type Position = { lat: number; lon: number }

/** Returns an id that is the same for the same device and arrival. It has the layout of a UUIDv7, to sort by arrival. */
export function dwellId(deviceId: string, arrivedAtMs: number): string {
  const hash = createHash('sha256').update(`${deviceId} ${arrivedAtMs}`).digest('hex')
  const time = arrivedAtMs.toString(16).padStart(12, '0')
  const variant = '89ab'[Number.parseInt(hash.charAt(3), 16) & 3]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`
}
