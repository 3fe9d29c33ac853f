import { clockAheadMs } from '#fleet-map/window'

/** An instant or an interval with both its ends; null where it is open. */
export type FeatureTimes = { fromMs: number | null; toMs: number | null }

const minuteMs = 60_000
const defaultMinutes = 1_440
/** The longest window of the live map. */
const maxMinutes = 129_600

/** The window of a list that has `from` and `to`: the last 24 hours, or the times. */
export function windowOf(times: FeatureTimes | undefined, nowMs: number) {
  if (!times) return {}
  const fromMs = times.fromMs ?? 0
  const toMs = times.toMs ?? Math.max(nowMs + clockAheadMs, fromMs)
  return { from: new Date(fromMs), to: new Date(toMs + 1) }
}

/**
 * The window of counted votes: the last 24 hours, or the times to the minute, as votes are. Times until now are a window until
 * now, which is counted by hours.
 */
export function countedWindow(times: FeatureTimes | undefined, nowMs: number) {
  if (!times) return { sinceMinutes: defaultMinutes }
  const fromMs = Math.floor((times.fromMs ?? 0) / minuteMs) * minuteMs
  const toMs = times.toMs === null ? Infinity : (Math.floor(times.toMs / minuteMs) + 1) * minuteMs
  if (fromMs < nowMs && toMs > nowMs) return { sinceMinutes: Math.ceil((nowMs - fromMs) / minuteMs) }
  const endMs = toMs === Infinity ? fromMs + minuteMs : toMs
  return { sinceMinutes: defaultMinutes, from: new Date(fromMs), to: new Date(endMs) }
}

/** The window of last positions: the last 24 hours, or as far back as the times begin. */
export function positionMinutes(times: FeatureTimes | undefined, nowMs: number): number {
  if (!times) return defaultMinutes
  return Math.max(1, Math.min(maxMinutes, Math.ceil((nowMs - (times.fromMs ?? 0)) / minuteMs)))
}
