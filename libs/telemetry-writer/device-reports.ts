import type { DeviceReport } from '#fleet/devices/status'
import type { WrittenDwell } from '#fleet/events/dwell-events'
import type { RowOrigin } from '#telemetry/ilp'
import type { CleanRow } from '#telemetry/rows'
import type { LoggedBatch } from '#telemetry-log/log'
import type { DeviceState } from './device-states.ts'
import type { DwellRow } from './dwell-row.ts'

/** What rows that were stored say about devices: one report for each, and stays in the order in which they were written. */
export type ToldByRows = { reports: DeviceReport[]; dwells: WrittenDwell[] }

export type DeviceReports = {
  /** Notes what a row that is about to be stored says about its device. */
  note(batch: LoggedBatch, row: CleanRow, state: DeviceState): void
  /** Notes a stay that is about to be stored. */
  noteDwell(row: DwellRow, origin: RowOrigin): void
  /** What was noted since the last time. */
  take(): ToldByRows
}

/** Folds rows into what Postgres shows of a device: firmware, fault and newest usable fix; stays become events there. */
export function createDeviceReports(): DeviceReports {
  let reports = new Map<string, DeviceReport>()
  let dwells: WrittenDwell[] = []

  function reportOf({ deviceId, organizationId, receivedAtMs }: LoggedBatch): DeviceReport {
    let report = reports.get(deviceId)
    if (!report) {
      report = { deviceId, organizationId, seenAtMs: receivedAtMs }
      reports.set(deviceId, report)
    }
    report.seenAtMs = Math.max(report.seenAtMs, receivedAtMs)
    return report
  }

  return {
    note(batch, row, state) {
      if (row.kind === 'system' && row.tsMs >= state.newestSystemMs) {
        state.newestSystemMs = row.tsMs
        const report = reportOf(batch)
        report.fault = row.fault ?? null
        if (row.firmware) report.firmware = row.firmware
      } else if (row.kind === 'location' && row.usable && row.lat !== null && row.lon !== null) {
        const report = reportOf(batch)
        if (row.tsMs >= (report.location?.tsMs ?? 0)) {
          report.location = { lat: row.lat, lon: row.lon, tsMs: row.tsMs }
        }
      }
    },
    noteDwell({ id, tsMs, departedAtMs, lastInsideAtMs, lat, lon, radiusM, withdrawn }, { deviceId, organizationId }) {
      const times = { arrivedAtMs: tsMs, departedAtMs, lastInsideAtMs }
      dwells.push({ dwellId: id, deviceId, organizationId, ...times, lat, lon, radiusM, withdrawn })
    },
    take() {
      const taken = { reports: [...reports.values()], dwells }
      reports = new Map()
      dwells = []
      return taken
    },
  }
}
