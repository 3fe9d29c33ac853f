import type { DeviceReport } from '#fleet/device-status'
import type { CleanRow } from '#telemetry/rows'
import type { LoggedBatch } from '#telemetry-log/log'
import type { DeviceState } from './device-states.ts'

export type DeviceReports = {
  /** Notes what a row that is about to be stored says about its device. */
  note(batch: LoggedBatch, row: CleanRow, state: DeviceState): void
  /** One report a device since the last time. */
  take(): DeviceReport[]
}

/** Folds rows into what Postgres shows of a device: firmware, fault and newest usable fix. */
export function createDeviceReports(): DeviceReports {
  let reports = new Map<string, DeviceReport>()

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
    take() {
      const taken = [...reports.values()]
      reports = new Map()
      return taken
    },
  }
}
