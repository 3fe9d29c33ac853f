import type { QuestdbSql } from '#questdb/server/sql'
import { createCleaningCounts } from '#telemetry-writer/reports/cleaning-counts'
import { decodeHere } from '#telemetry-writer/reports/decode-report'
import { createReportRows } from '#telemetry-writer/reports/report-rows'
import { createDeviceReports } from '#telemetry-writer/states/device-reports'
import { createDeviceStates } from '#telemetry-writer/states/device-states'
import { createRowBatch } from '#telemetry-writer/store/row-batch'
import type { FilledPart } from './device-memory-filled.ts'
import { minuteSamples } from './samples.ts'

const intervalMs = 5 * 60_000
const firstReportMs = Date.UTC(2026, 10, 1)
const generationMs = 60_000
const secondsPerInterval = intervalMs / 1_000

/** A database without rows: all devices are new. */
const emptyDatabase: QuestdbSql = { query: async () => [], queryArrays: async () => [], end: async () => {} }

/** The states that the writer keeps between two reports. */
export async function fillWriter(devices: number, reports: number, motion: 'moving' | 'parked'): Promise<FilledPart> {
  let generation = 0
  const onFailure = (deviceId: string, error: unknown) => {
    throw new Error(`The state of ${deviceId} was not loaded.`, { cause: error })
  }
  const states = createDeviceStates({
    ...{ questdb: emptyDatabase, position: () => 0, onFailure, activity: { statesRestored: 0 } },
    generation: () => generation,
  })
  const rows = createRowBatch()
  const changes = createDeviceReports()
  const reportRows = createReportRows({ rows, reports: changes, cleaning: createCleaningCounts() })
  const stored = { has: () => false }
  for (let report = 0; report < reports; report++) {
    const nowMs = firstReportMs + report * intervalMs
    generation = (report * intervalMs) / generationMs
    for (let second = 0; second < secondsPerInterval; second++) {
      const first = Math.floor((devices * second) / secondsPerInterval)
      const end = Math.floor((devices * (second + 1)) / secondsPerInterval)
      const batches = Array.from({ length: end - first }, (_, index) => batchOf(first + index, nowMs, motion))
      await states.load(new Map(batches.map(({ deviceId, deviceClass }) => [deviceId, deviceClass])), nowMs)
      for (const batch of batches) {
        reportRows.add(decodeHere(batch), states.of(batch.deviceId), { counted: true, stored, generation })
      }
      rows.take()
      changes.take()
      states.packIdle(report * intervalMs + second * 1_000)
    }
  }
  return { keep: () => states.dirty() }
}

/** A report as it is read from the log, with strings of its own. */
function batchOf(device: number, nowMs: number, motion: 'moving' | 'parked') {
  const samples = minuteSamples(nowMs, device).map((sample) =>
    motion === 'parked' && sample.kind === 'location' ? { ...sample, lat: 51.5, lon: -8.9, speedMps: 0 } : sample,
  )
  return {
    deviceId: deviceIdOf(device),
    organizationId: Buffer.from('0199a000-0000-7000-8000-000000000001').toString('latin1'),
    deviceClass: 'vehicle' as const,
    receivedAtMs: nowMs + 500,
    oldestTsMs: nowMs - 86_400_000,
    format: 'json' as const,
    sampleCount: samples.length,
    body: Buffer.from(JSON.stringify({ samples })),
    firstSample: 0,
    position: 0,
    nextPosition: 0,
  }
}

const deviceIdOf = (device: number): string =>
  Buffer.from(`0199a000-0000-7000-8000-${device.toString(16).padStart(12, '0')}`).toString('latin1')
