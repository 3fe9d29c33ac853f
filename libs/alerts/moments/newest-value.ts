/** A value that samples of a modem have, such as its operator, and the times of the first and the last of them. */
export type ValueSpan = { value: string; firstMs: number; lastMs: number }

/**
 * The value of the newest sample, and since when the samples have it. `isNew`: none of them had it before another value. Values
 * that alternate are not new.
 */
export function newestValue<Span extends ValueSpan>(
  spans: readonly Span[],
): { newest: Span; sinceMs: number; isNew: boolean } | undefined {
  const [newest, ...others] = [...spans].sort((a, b) => b.lastMs - a.lastMs || b.firstMs - a.firstMs)
  if (!newest) return undefined
  const otherMs = Math.max(Number.NEGATIVE_INFINITY, ...others.map(({ lastMs }) => lastMs))
  return { newest, sinceMs: Math.max(newest.firstMs, otherMs), isNew: otherMs < newest.firstMs }
}
