import { newId } from '#core/ids'
import type { LoggedBatch } from '#telemetry-log/log'
import { driveSamples, minuteSamples, parkedSamples } from './samples.ts'

type Samples = Record<string, unknown>[]

/** What the devices of a workload report. */
export type Workload = {
  devices: number
  everyMs: number
  /** Reports of each device, and those before the measurement begins. */
  reports: number
  warmUp: number
  about: string
  samples(tsMs: number, seed: number): Samples
}

const radio = (ts: number, seed: number) => ({
  ...{ kind: 'cellular', ts, rat: 'lte', plmn: '27201', operatorName: 'Operator A', band: 'B20', arfcn: 6_300 },
  ...{ pci: (seed + Math.floor(ts / 7_000)) % 504, tac: '40122' },
  cellId: String(1_000_000 + ((seed + Math.floor(ts / 60_000)) % 50_000)),
  ...{ rssiDbm: -70 - (Math.floor(ts / 1_000) % 20), rsrpDbm: -95 - (Math.floor(ts / 1_000) % 25), rsrqDb: -9 },
})

const fix = (ts: number, seed: number) => ({
  ...{ kind: 'location', ts, lat: 40 + ((ts / 1_000) % 70_000) * 1.25e-4, lon: ((seed * 7) % 360) - 180 },
  ...{ fix: '3d', accuracyM: 5, satellites: 11, altitudeM: 35, speedMps: 14, headingDeg: 2 },
})

const tripSamples = (tsMs: number, seed: number): Samples =>
  Array.from({ length: 10 }, (_, second) => tsMs + second * 1_000).flatMap((ts, second) =>
    second % 5 === 2 ? [radio(ts, seed), fix(ts + 200, seed)] : [radio(ts, seed)],
  )

/** `warmUp` covers the time after which the states of devices are packed. */
export const workloads: Readonly<Record<string, Workload>> = {
  drive: {
    ...{ devices: 100, everyMs: 50_000, reports: 60, warmUp: 20, about: '100 samples in a report' },
    samples: (tsMs, seed) => driveSamples(100, tsMs, seed),
  },
  minute: {
    ...{ devices: 20_000, everyMs: 300_000, reports: 5, warmUp: 2, about: 'one of each kind every 5 min' },
    samples: minuteSamples,
  },
  trip: {
    ...{ devices: 500, everyMs: 10_000, reports: 60, warmUp: 20, about: '10 RF samples and 2 fixes every 10 s' },
    samples: tripSamples,
  },
  live: {
    ...{ devices: 2_000, everyMs: 10_000, reports: 40, warmUp: 15, about: 'an RF sample and a fix every 10 s' },
    samples: (tsMs, seed) => [fix(tsMs + 9_000, seed), radio(tsMs + 10_000, seed)],
  },
  parked: {
    ...{ devices: 10_000, everyMs: 300_000, reports: 8, warmUp: 3, about: 'dwelling, one of each kind every 5 min' },
    samples: parkedSamples,
  },
}

/** Returns the reports of each interval in turn, spread over it, in the order of their receipt. */
export function* reportsOf(workload: Workload, startMs: number): Generator<LoggedBatch[]> {
  const { devices, everyMs, reports, samples } = workload
  const organizationId = newId()
  const deviceIds = Array.from({ length: devices }, () => newId())
  let position = 0
  let firstSample = 0
  for (let interval = 0; interval < reports; interval++) {
    yield deviceIds.map((deviceId, seed) => {
      const tsMs = startMs + interval * everyMs + Math.floor((seed * everyMs) / devices)
      const reported = samples(tsMs, seed)
      const sampleCount = reported.length
      const batch: LoggedBatch = {
        ...{ deviceId, organizationId, deviceClass: 'vehicle', format: 'json', oldestTsMs: 0, sampleCount },
        ...{ receivedAtMs: Math.max(...reported.map(({ ts }) => Number(ts))) + 500, firstSample, position },
        body: Buffer.from(JSON.stringify({ samples: reported })),
        nextPosition: position + 1,
      }
      position += 1
      firstSample += sampleCount
      return batch
    })
  }
}
