/** A router whose reports are a function of time: what it measured after `fromMs` and until `toMs`. */
export type Traffic = (device: number, fromMs: number, toMs: number) => Measured[]

type Measured = { kind: 'cellular' | 'location'; ts: number } & Record<string, unknown>

const metresPerDegree = 111_195
const speedMps = 14

/** Drives north with an RF sample and a fix every 10 s. Most of the time, the newest RF sample waits for its next fix. */
export const moving: Traffic = (device, fromMs, toMs) => [
  ...times({ everyMs: 10_000, afterMs: 0 }, fromMs, toMs).map(radio),
  ...times({ everyMs: 10_000, afterMs: 9_000 }, fromMs, toMs).map((ts) => {
    const northM = ((ts / 1_000) * speedMps) % 1_000_000
    const place = { lat: 40 + northM / metresPerDegree, lon: device, accuracyM: 5, speedMps, headingDeg: 0 }
    return { kind: 'location' as const, ts, ...place }
  }),
]

/** Stands with an RF sample and a fix every minute. Fixes are up to 20 m apart. */
export const parked: Traffic = (device, fromMs, toMs) => [
  ...times({ everyMs: 60_000, afterMs: 0 }, fromMs, toMs).map(radio),
  ...times({ everyMs: 60_000, afterMs: 0 }, fromMs, toMs).map((ts) => {
    const offset = (step: number) => (((Math.floor(ts / 60_000) * step + device * 7) % 997) / 997) * 0.000_18
    return { kind: 'location' as const, ts, lat: 50 + offset(7_919), lon: device + offset(6_389), accuracyM: 8 }
  }),
]

const radio = (ts: number): Measured => ({ kind: 'cellular', ts, rat: 'lte', plmn: '27201', rsrpDbm: -90, sinrDb: 9 })

/** Returns the times `afterMs` after the multiples of `everyMs` that are after `fromMs` and not after `toMs`. */
function times({ everyMs, afterMs }: { everyMs: number; afterMs: number }, fromMs: number, toMs: number): number[] {
  const first = Math.floor((fromMs - afterMs) / everyMs) + 1
  const last = Math.floor((toMs - afterMs) / everyMs)
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => (first + index) * everyMs + afterMs)
}
