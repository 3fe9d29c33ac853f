import type { Sample, SampleSource } from './sample.ts'

/**
 * Replays a recording `speed` times as fast as it was driven. Distances between times stay as recorded, so that speeds,
 * gaps and stops remain what they were; the whole drive is shifted so that its last sample falls on the moment the
 * replay ends. No sample is ever in the future: at 60 × one hour is sent within a minute and ends now. What was driven
 * before `resumedAtMs` is left out: the router was off.
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
