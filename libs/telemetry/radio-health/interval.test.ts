import { expect, it } from 'vitest'
import { createDraw } from '#test/draw'
import { createMedianInterval } from './interval.ts'
import { medianOf } from './median.ts'

const medianInterval = (sorted: Float32Array) => createMedianInterval()(sorted)

/** A bootstrap as it is defined: draws with replacement, and the median of each. */
function drawnInterval(values: readonly number[], replicates: number, draw: () => number) {
  const medians = Array.from({ length: replicates }, () =>
    medianOf(values.map(() => values[Math.floor(draw() * values.length)] ?? 0)),
  ).sort((a, b) => a - b)
  return { low: medians[Math.floor(0.025 * replicates)] ?? 0, high: medians[Math.floor(0.975 * replicates)] ?? 0 }
}

it.each([10, 11, 24, 75, 200])('agrees with a bootstrap that draws all of %i cells', (count) => {
  const draw = createDraw(count)
  const values = Array.from({ length: count }, () => (draw() + draw() + draw() - 1.5) * 800).sort((a, b) => a - b)
  const drawn = drawnInterval(values, 4_000, draw)
  const { low, high } = medianInterval(Float32Array.from(values))
  // Both have errors of their own: a quarter of the width of the interval is several of these.
  const tolerance = (drawn.high - drawn.low) / 4
  expect(Math.abs(low - drawn.low)).toBeLessThan(tolerance)
  expect(Math.abs(high - drawn.high)).toBeLessThan(tolerance)
  expect(medianInterval(Float32Array.from(values))).toEqual({ low, high })
})

it('does not depend on the values before', () => {
  const interval = createMedianInterval()
  const values = [40, 12, 40, 40, 13].map((count) => Float32Array.from({ length: count }, (_, index) => index ** 2))
  expect(values.map(interval)).toEqual(values.map(medianInterval))
})

it('is the value itself where all are equal, or only one is there', () => {
  expect(medianInterval(new Float32Array(12).fill(-250))).toEqual({ low: -250, high: -250 })
  expect(medianInterval(Float32Array.of(70))).toEqual({ low: 70, high: 70 })
})
