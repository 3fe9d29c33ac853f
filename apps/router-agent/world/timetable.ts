import { integerBetween, numberBetween, uniform } from './noise.ts'

/** From `startMs` for `durationMs`, going from one chainage to another at constant speed; equal ones are a stop. */
type Leg = { startMs: number; durationMs: number; fromM: number; toM: number }

/** What a vehicle does over and over: legs that follow each other and end where they began. */
export type Timetable = { legs: Leg[]; cycleMs: number; phaseMs: number }

export type Movement = { alongM: number; speedMps: number; forward: boolean }

export type Habits = {
  /** The stretch of the path used; it is driven there and back. */
  fromM: number
  toM: number
  speedMps: readonly [number, number]
  /** Stands at both ends. */
  depotMinutes: readonly [number, number]
  /** Longer stops on the way: deliveries, breaks, quays. */
  stopEveryM: readonly [number, number]
  stopMinutes: readonly [number, number]
  /** Where it may make a longer stop; due anywhere else, it is made at the next such place. */
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

/** Makes one cycle there and back; the seed decides stops, speeds and where in the cycle the epoch falls. */
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

/** Where on its path a vehicle is at a time, and how fast. A pure function: any time, in any order. */
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
