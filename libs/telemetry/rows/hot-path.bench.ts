/** `node libs/telemetry/rows/hot-path.bench.ts`: what decoding, cleaning and encoding cost beside JSON.parse alone. */

import { alignReport } from '#telemetry/position/align-report'
import { createDeviceAlignment } from '#telemetry/position/device-alignment'
import { dwellPolicies } from '#telemetry/position/dwell'
import { decodeBatch } from '#telemetry/report/accept'
import { cleanSample } from '#telemetry/report/clean'
import type { CellularRow } from '#telemetry/report/rows'
import { createRowEncoder } from './ilp.ts'
import { tables } from './tables.ts'

const samplesPerBatch = 100
const rounds = 7
const batchesPerRound = 500

const receivedAtMs = Date.UTC(2026, 0, 1)
const context = { receivedAtMs, oldestTsMs: receivedAtMs - 90 * 86_400_000 }
const origin = { deviceId: '01890a5d-ac96-774b-bcce-b302099a8057', organizationId: 'organization', receivedAtMs }

const cellularSample = (second: number) => ({
  ts: receivedAtMs - second * 1000,
  kind: 'cellular',
  rat: 'lte',
  plmn: '27201',
  band: 'B20',
  arfcn: 6300,
  pci: second % 504,
  cellId: '10805003',
  tac: '40122',
  rssiDbm: -63 - (second % 20),
  rsrpDbm: -93.5,
  rsrqDb: -11.25,
  sinrDb: 7.5,
  cqi: 11,
})

const samples = Array.from({ length: samplesPerBatch }, (_, second) => cellularSample(second))
const body = Buffer.from(JSON.stringify({ sentAt: receivedAtMs, samples }))

function decode() {
  const batch = decodeBatch(body, 'json', context)
  if (!batch.ok) throw new Error(batch.detail)
  return batch.samples
}

const decoded = decode()
const rows = decoded.map((sample) => cleanSample(sample, () => {}) as CellularRow)
/** A drive of 100 s: an RF sample a second, a fix every ten. */
const reports = Array.from({ length: samplesPerBatch / 10 }, (_, fix) => ({
  tsMs: receivedAtMs - (samplesPerBatch - fix * 10) * 1000,
  lat: 51.9 + fix * 0.0009,
  lon: -8.4,
  fixTs: null,
  accuracyM: 5,
  speedMps: 10,
  headingDeg: null,
}))
let encoder = createRowEncoder(tables.cellular, 1 << 22)

const steps: Record<string, () => void> = {
  'JSON.parse alone': () => JSON.parse(body.toString('utf8')),
  'decode (parse and check)': decode,
  clean: () => {
    for (const sample of decoded) cleanSample(sample, () => {})
  },
  'align, with coverage cells': () => {
    alignReport(createDeviceAlignment(), dwellPolicies.vehicle, reports, rows)
  },
  'encode 14 fields': () => {
    for (const row of rows) encoder.append(row, origin)
    if (encoder.size() > 3 << 20) encoder = createRowEncoder(tables.cellular, 1 << 22)
  },
}

const microsecondsPerSample: Record<string, number[]> = {}
for (let round = 0; round < rounds; round++) {
  for (const [name, step] of Object.entries(steps)) {
    const startedAt = process.cpuUsage()
    for (let batch = 0; batch < batchesPerRound; batch++) step()
    const { user, system } = process.cpuUsage(startedAt)
    microsecondsPerSample[name] = [
      ...(microsecondsPerSample[name] ?? []),
      (user + system) / batchesPerRound / samplesPerBatch,
    ]
  }
}
for (const [name, costs] of Object.entries(microsecondsPerSample)) {
  const median = costs.sort((a, b) => a - b)[rounds >> 1] ?? Number.NaN
  console.log(`${name.padEnd(28)}${median.toFixed(3)} µs a sample`)
}
