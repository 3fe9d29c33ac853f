import { type Action, failed, succeeded } from './action.ts'

const roundTrips = 5

/** Measures the path to the service: five round trips and the rate of one larger response. */
export const measureSpeed: Action = async (_job, { edge, progress }) => {
  const latenciesMs: number[] = []
  for (let trip = 0; trip < roundTrips; trip += 1) {
    const startedAt = performance.now()
    const { status } = await edge.probe('/livez')
    if (status === 0) return failed('The service did not respond to a probe.')
    latenciesMs.push(performance.now() - startedAt)
  }
  if ((await progress(50)).cancelRequested) return failed('Cancelled.')
  const startedAt = performance.now()
  const { bytes } = await edge.probe('/openapi.json')
  const seconds = (performance.now() - startedAt) / 1_000
  const sorted = latenciesMs.sort((a, b) => a - b)
  const median = sorted[Math.floor(roundTrips / 2)] ?? 0
  const jitter = (sorted.at(-1) ?? 0) - (sorted[0] ?? 0)
  const tenths = (value: number) => Math.round(value * 10) / 10
  return succeeded({
    latencyMs: tenths(median),
    jitterMs: tenths(jitter),
    downloadMbps: tenths((bytes * 8) / seconds / 1e6),
  })
}
