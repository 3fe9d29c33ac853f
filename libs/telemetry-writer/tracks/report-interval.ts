/** How often a device reports. */
export type ReportInterval = {
  /** When the newest report was received. */
  receivedAtMs: number
  /** The longest recent time between two reports. */
  everyMs: number
}

export const noReports: ReportInterval = { receivedAtMs: 0, everyMs: 0 }

/** How much of the longest interval remains after each shorter one. */
const decay = 0.8
/** A device is quiet after this many of its intervals without a report, within limits. */
const quietIntervals = 1.5
const leastQuietMs = 20_000
const mostQuietMs = 2 * 60_000

/** Returns the interval after one more report. Reports that were received together count as one. */
export function withReport(interval: ReportInterval, receivedAtMs: number): ReportInterval {
  if (receivedAtMs <= interval.receivedAtMs) return interval
  const sinceLastMs = interval.receivedAtMs === 0 ? 0 : receivedAtMs - interval.receivedAtMs
  return { receivedAtMs, everyMs: Math.max(Math.min(sinceLastMs, mostQuietMs), decay * interval.everyMs) }
}

/** Returns how long a device must be silent to count as quiet, in milliseconds. */
export const quietAfterMs = ({ everyMs }: ReportInterval): number =>
  Math.min(Math.max(quietIntervals * everyMs, leastQuietMs), mostQuietMs)
