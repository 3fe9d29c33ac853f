import { integerBetween, numberBetween, uniform } from './noise.ts'

/** A leg from `startMs` for `durationMs` between two distances at constant speed. Equal distances mean a stop. */
type Leg = { startMs: number; durationMs: number; fromM: number; toM: number }

/** The repeated cycle of a vehicle: consecutive legs that end where they start. */
export type Timetable = { legs: Leg[]; cycleMs: number; phaseMs: number }

type Movement = { alongM: number; speedMps: number; forward: boolean }

type Habits = {
  /** The section of the path that is driven there and back. */
  fromM: number
  toM: number
  speedMps: readonly [number, number]
  /** Duration of the stops at both ends. */
  depotMinutes: readonly [number, number]
  /** Longer stops on the way: deliveries, breaks, quays. */
  stopEveryM: readonly [number, number]
  stopMinutes: readonly [number, number]
  /** Distances at which a longer stop is allowed. A stop that is due elsewhere happens at the next one. */
  standsAt: (alongM: number) => boolean
  /** Short stops: traffic lights, queues. */
  lightEveryM: readonly [number, number]
  lightSeconds: readonly [number, number]
}

const driveOnM = 250

/** A router that never moves. */
export const standing = (alongM: number): Timetable => ({
  legs: [{ startMs: 0, durationMs: 86_400_000, fromM: alongM, toM: alongM }],
  cycleMs: 86_400_000,
  phaseMs: 0,
})

/** Generates one cycle there and back. The seed determines stops, speeds and the phase of the cycle. */
export function makeTimetable(habits: Habits, seed: number): Timetable {
  const legs: Leg[] = []
  let nowMs = 0
  let draw = 0
  const between = ([from, to]: readonly [number, number]) => numberBetween(from, to, seed, ++draw)
  const push = (durationMs: number, fromM: number, toM: number) => {
    legs.push({ startMs: nowMs, durationMs, fromM, toM })
    nowMs += durationMs
  }
  const stand = (minutes: number, atM: number) => push(Math.round(minutes * 60_000), atM, atM)

  const drive = (fromM: number, toM: number) => {
    const direction = Math.sign(toM - fromM)
    let atM = fromM
    let toNextStopM = between(habits.stopEveryM)
    while (atM !== toM) {
      const stretchM = Math.min(between(habits.lightEveryM), toNextStopM, Math.abs(toM - atM))
      push(Math.round((stretchM / between(habits.speedMps)) * 1_000), atM, atM + direction * stretchM)
      atM = Math.abs(toM - atM) - stretchM < 1 ? toM : atM + direction * stretchM
      toNextStopM -= stretchM
      if (atM === toM) return
      if (toNextStopM < 1 && !habits.standsAt(atM)) {
        toNextStopM = driveOnM
      } else if (toNextStopM < 1) {
        stand(between(habits.stopMinutes), atM)
        toNextStopM = between(habits.stopEveryM)
      } else if (uniform(seed, ++draw) < 0.5) {
        stand(between(habits.lightSeconds) / 60, atM)
      }
    }
  }

  stand(between(habits.depotMinutes), habits.fromM)
  drive(habits.fromM, habits.toM)
  stand(between(habits.depotMinutes), habits.toM)
  drive(habits.toM, habits.fromM)
  return { legs, cycleMs: nowMs, phaseMs: integerBetween(0, nowMs - 1, seed, 0) }
}

/** The distance on the path and the speed of a vehicle at a time, as a pure function. */
export function movementAt({ legs, cycleMs, phaseMs }: Timetable, atMs: number): Movement {
  const inCycleMs = (((atMs + phaseMs) % cycleMs) + cycleMs) % cycleMs
  let low = 0
  let high = legs.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((legs[middle]?.startMs ?? 0) <= inCycleMs) low = middle
    else high = middle - 1
  }
  const leg = legs[low]
  if (!leg) return { alongM: 0, speedMps: 0, forward: true }
  const fraction = leg.durationMs === 0 ? 1 : Math.min(1, (inCycleMs - leg.startMs) / leg.durationMs)
  return {
    alongM: leg.fromM + (leg.toM - leg.fromM) * fraction,
    speedMps: leg.durationMs === 0 ? 0 : Math.abs(leg.toM - leg.fromM) / (leg.durationMs / 1_000),
    forward: leg.toM >= leg.fromM,
  }
}
