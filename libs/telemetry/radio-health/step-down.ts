import type { DayLevel } from './day-levels.ts'
import { medianOf } from './median.ts'

/** Shared cells from which a day has a level of its own; fewer are joined with the next days. */
const minPointCells = 5
/** Days on each side of a step. One odd day, for example in a garage, is none. */
const minSideDays = 2
/** The smallest step, and the number of standard errors that it exceeds. Noise alone exceeds four once in a few hundred months. */
const minStepDb = 1.5
const minStandardErrors = 4
/** The days of a constant radio differ at least by this. */
const minNoiseDb = 0.3
/** The standard deviation of a normal distribution, from the median of the differences of two of its values. */
const noiseOfDifference = 1 / 0.954

/** A time from which the level was another one. */
type Step = { day: number; changeDb: number }

/** Joins days with few cells with the days after them, under the first of their dates. */
function joinDays(levels: readonly DayLevel[]): DayLevel[] {
  const joined: DayLevel[] = []
  for (const level of levels) {
    const last = joined.at(-1)
    if (last === undefined || last.cells >= minPointCells) joined.push(level)
    else {
      const cells = last.cells + level.cells
      const levelDb = (last.levelDb * last.cells + level.levelDb * level.cells) / cells
      joined[joined.length - 1] = { day: last.day, levelDb, cells }
    }
  }
  return joined.filter(({ cells }) => cells >= minPointCells)
}

/** The noise of a day, from differences of successive days, which a step changes only once. */
function noiseDb(points: readonly DayLevel[]): number {
  const differences = points.slice(1).map(({ levelDb }, index) => Math.abs(levelDb - (points[index]?.levelDb ?? 0)))
  return Math.max(minNoiseDb, medianOf(differences) * noiseOfDifference)
}

/**
 * Adds the steps of either direction to `steps`, in order. A step is where the cumulative sum of the deviations from the mean is
 * furthest from zero for the length of its sides; then each side is searched.
 */
function findSteps(points: readonly DayLevel[], noise: number, steps: Step[]): void {
  const total = points.reduce((sum, { levelDb }) => sum + levelDb, 0)
  let best = { at: 0, errors: 0, changeDb: 0 }
  let before = 0
  for (const [index, { levelDb }] of points.entries()) {
    const after = points.length - index
    if (index >= minSideDays && after >= minSideDays) {
      const changeDb = (total - before) / after - before / index
      const errors = Math.abs(changeDb) / (noise * Math.sqrt(1 / index + 1 / after))
      if (errors > best.errors && Math.abs(changeDb) >= minStepDb) best = { at: index, errors, changeDb }
    }
    before += levelDb
  }
  if (best.errors < minStandardErrors) return
  findSteps(points.slice(0, best.at), noise, steps)
  steps.push({ day: points[best.at]?.day ?? 0, changeDb: best.changeDb })
  findSteps(points.slice(best.at), noise, steps)
}

/** Returns the first day of the level to which a radio fell last; null if it did not fall, or rose again since. */
export function dayOfStepDown(levels: readonly DayLevel[]): number | null {
  const points = joinDays(levels)
  if (points.length < 2 * minSideDays) return null
  const steps: Step[] = []
  findSteps(points, noiseDb(points), steps)
  const last = steps.at(-1)
  return last !== undefined && last.changeDb < 0 ? last.day : null
}
