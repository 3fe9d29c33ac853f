const dayMs = 24 * 60 * 60 * 1_000

/**
 * How many requests a report counts as. Every day is a part of its own in the telemetry database, and rows that belong
 * between those of an earlier day have it written anew: samples strewn over a quarter cost everybody else as much as
 * ninety reports do. A buffer emptied in order touches two days at midnight, which is one request as usual.
 */
export function requestsWorth(samples: readonly { tsMs: number }[]): number {
  const first = dayOf(samples[0]?.tsMs ?? 0)
  let second = first
  for (const { tsMs } of samples) {
    const day = dayOf(tsMs)
    if (day === first || day === second) continue
    if (second !== first) return new Set(samples.map((sample) => dayOf(sample.tsMs))).size - 1
    second = day
  }
  return 1
}

const dayOf = (ms: number): number => Math.floor(ms / dayMs)
