/**
 * Stateless noise: equal keys give equal values, so that the simulation is a pure function of seed and time, independent of
 * the order of calls.
 */

/** Uniform in [0, 1), from a 32-bit integer hash (murmur3's mixing) of the keys. */
export function uniform(...keys: number[]): number {
  let hash = 0x9747b28c
  for (const key of keys) {
    // Keys may be epoch milliseconds: both halves count.
    hash = mix(hash ^ (key | 0))
    hash = mix(hash ^ Math.floor(key / 0x1_0000_0000))
  }
  return (hash >>> 0) / 0x1_0000_0000
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return Math.imul(hash ^ (hash >>> 16), 5) + 0x6546b64
}

/** Standard normal (Box-Muller). */
export function gaussian(...keys: number[]): number {
  const radius = Math.sqrt(-2 * Math.log(1 - uniform(1, ...keys)))
  return radius * Math.cos(2 * Math.PI * uniform(2, ...keys))
}

/** Standard normal noise that changes smoothly with `position`, over about one unit. */
export function smoothGaussian(position: number, ...keys: number[]): number {
  const cell = Math.floor(position)
  const fraction = position - cell
  const blended = gaussian(cell, ...keys) * (1 - fraction) + gaussian(cell + 1, ...keys) * fraction
  // Blending two draws lowers the variance; this restores it.
  return blended / Math.hypot(1 - fraction, fraction)
}

/** An integer in [from, to]. */
export const integerBetween = (from: number, to: number, ...keys: number[]): number =>
  from + Math.floor(uniform(...keys) * (to - from + 1))

export const numberBetween = (from: number, to: number, ...keys: number[]): number =>
  from + uniform(...keys) * (to - from)

/** One of the values; undefined only for an empty list. */
export const pick = <Value>(values: readonly Value[], ...keys: number[]): Value | undefined =>
  values[Math.floor(uniform(...keys) * values.length)]
