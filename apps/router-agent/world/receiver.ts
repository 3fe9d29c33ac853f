import type { Sample } from '../sample.ts'
import { gaussian, uniform } from './noise.ts'
import { distanceM, offset, type Spot } from './paths.ts'

export type ReceiverHabits = {
  /** Distance from the last fix after which a new one is taken. */
  refreshM: number
  /** Interval at which the last fix is repeated. */
  repeatEveryMs: number
  noiseM: number
  /** The firmware sends the time of the fix with each repetition. */
  sendsFixTime: boolean
  source: 'gnss' | 'manual'
}

type Receiver = {
  /** The location sample that is due at this time, if any. */
  observe: (spot: Spot, speedMps: number, sky: boolean, ts: number) => Sample | undefined
}

type Fix = { at: Spot; lat: number; lon: number; ts: number; fields: Record<string, unknown> }

/**
 * Simulates the GNSS receiver of a vehicle router. It updates position, speed and heading only after about 100 m, and
 * repeats the last fix in between, so that a stationary vehicle may report its last speed. In a tunnel it reports
 * `fix: none`.
 */
export function createReceiver(habits: ReceiverHabits, seed: number): Receiver {
  let fix: Fix | undefined
  let reportedAtMs = Number.NEGATIVE_INFINITY

  function take(spot: Spot, speedMps: number, ts: number): Fix {
    const [lat, lon] = offset(
      [spot.lat, spot.lon],
      gaussian(seed, ts, 1) * habits.noiseM,
      gaussian(seed, ts, 2) * habits.noiseM,
    )
    const hdop = Math.round((0.7 + uniform(seed, ts, 3) * (habits.noiseM > 4 ? 1.4 : 0.6)) * 10) / 10
    const fields = {
      fix: '3d',
      accuracyM: Math.round(habits.noiseM * 2 * hdop * 10) / 10,
      hdop,
      satellites: 7 + Math.floor(uniform(seed, ts, 4) * 12),
      speedMps: Math.round(speedMps * 10) / 10,
      headingDeg: Math.round(spot.headingDeg),
      source: habits.source,
    }
    return { at: spot, lat: Math.round(lat * 1e6) / 1e6, lon: Math.round(lon * 1e6) / 1e6, ts, fields }
  }

  return {
    observe(spot, speedMps, sky, ts) {
      const due = ts - reportedAtMs >= habits.repeatEveryMs
      if (!sky) {
        if (!due) return undefined
        reportedAtMs = ts
        return { ts, kind: 'location', fix: 'none', satellites: Math.floor(uniform(seed, ts, 5) * 3), source: 'gnss' }
      }
      const moved = !fix || distanceM([fix.at.lat, fix.at.lon], [spot.lat, spot.lon]) >= habits.refreshM
      if (moved) fix = take(spot, speedMps, ts)
      if (!fix || (!moved && !due)) return undefined
      reportedAtMs = ts
      const fixTime = habits.sendsFixTime ? { fixTs: fix.ts } : {}
      return { ts, kind: 'location', lat: fix.lat, lon: fix.lon, ...fix.fields, ...fixTime }
    },
  }
}
