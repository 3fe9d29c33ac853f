const dayMs = 24 * 60 * 60 * 1_000
/** A thousand samples of every kind are smaller; only lists of cells and members that are no field make more. */
const bytesOfOneRequest = 512 * 1024

/** How many requests the bytes of a report count as, as sent or decompressed: 1 up to half a mebibyte, then 2. */
export const requestsForBytes = (bytes: number): number => Math.max(1, Math.ceil(bytes / bytesOfOneRequest))

/**
 * How many requests the days of a report count as. Each day is a partition of the telemetry database, which is rewritten
 * for rows between earlier rows: samples spread over a quarter cost as much as ninety reports. A buffer that is sent in
 * order contains two days at midnight, which count as one request.
 */
export function requestsForDays(samples: readonly { tsMs: number }[]): number {
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
