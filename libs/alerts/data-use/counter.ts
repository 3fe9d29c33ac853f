const wrapAt = 2 ** 32
const mostBeforeWrap = 2 ** 31

/** The last value of a counter. */
export type Counted = { last: number }

/**
 * The bytes between two values of a counter, as `usedSince` computes them in SQL: a counter that falls has wrapped at 2^32, if that
 * explains it with less than 2^31 bytes; otherwise it has started again from 0.
 */
export function usedBetween(last: number, present: number): number {
  if (present >= last) return present - last
  const wrapped = present + wrapAt - last
  return last >= mostBeforeWrap && last < wrapAt && wrapped < mostBeforeWrap ? wrapped : present
}

/** Returns what a counter used in a span and since its last value before it, and keeps its last value. */
export function addSpan(
  counters: Map<string, Counted>,
  key: string,
  [first, last, used]: readonly (number | null | undefined)[],
): number {
  if (typeof first !== 'number' || typeof last !== 'number') return 0
  const known = counters.get(key)
  const before = known ? usedBetween(known.last, first) : 0
  if (known) known.last = last
  else counters.set(key, { last })
  return before + (used ?? 0)
}
