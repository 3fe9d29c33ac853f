import type { Sample, SampleSource } from './sample.ts'

/**
 * Replays a recording `speed` times as fast as it was recorded. The differences between sample times do not change, so that
 * speeds, gaps and stops remain correct. All times are shifted so that the last sample has the time at which the replay
 * ends, and no sample is in the future: at speed 60, one hour is sent within a minute. Skips samples before `resumedAtMs`,
 * when the router was off.
 */
export function createDriveSource(
  samples: Sample[],
  speed: number,
  startedAtMs: number,
  resumedAtMs: number,
): SampleSource {
  const firstMs = samples[0]?.ts ?? 0
  const durationMs = samples.reduce((latest, sample) => Math.max(latest, sample.ts), firstMs) - firstMs
  const shiftMs = startedAtMs + durationMs / speed - durationMs - firstMs
  const reached = (nowMs: number) => firstMs + (nowMs - startedAtMs) * speed
  let next = samples.findIndex((sample) => sample.ts >= reached(resumedAtMs))
  if (next < 0) next = samples.length
  return {
    collect(nowMs) {
      const reachedMs = reached(nowMs)
      const from = next
      for (let sample = samples[next]; sample && sample.ts <= reachedMs; sample = samples[next]) next += 1
      return samples.slice(from, next).map((sample) => ({ ...sample, ts: Math.round(sample.ts + shiftMs) }))
    },
    isLinkUp: () => true,
    isExhausted: () => next >= samples.length,
  }
}
