import type { DeviceReport } from '#fleet/devices/reported/device-reports'
import type { ReportedDwell } from '#fleet/devices/reported/dwell-events'
import type { CleanRow } from '#telemetry/report/rows'
import type { RowOrigin } from '#telemetry/rows/ilp'
import type { LoggedBatch } from '#telemetry-log/log'
import type { DwellRow } from '#telemetry-writer/tracks/dwell-row'
import type { DeviceState } from './device-state.ts'
import { foldMoment, type ReportedMoment } from './reported-moments.ts'

/**
 * Changes of devices by stored rows: one report for each device, dwells in the order in which they were written, and one moment
 * for each device of an organization whose jobs wait for one.
 */
export type ToldByRows = { reports: DeviceReport[]; dwells: ReportedDwell[]; moments: ReportedMoment[] }

export const hasChanges = ({ reports, dwells, moments }: ToldByRows): boolean =>
  reports.length + dwells.length + moments.length > 0

export type DeviceReports = {
  /** Records what a row that will be stored changes about its device. */
  note(batch: LoggedBatch, row: CleanRow, state: DeviceState): void
  /** Records a dwell that will be stored. */
  noteDwell(row: DwellRow, origin: RowOrigin): void
  /** Records what a report says about the signal and the stop of its device. */
  noteMoment(moment: ReportedMoment): void
  /** Returns what was recorded since the last call. */
  take(): ToldByRows
}

/** Reduces rows to the fields of a device in Postgres: firmware, fault and newest usable fix. Dwells become events. */
export function createDeviceReports(): DeviceReports {
  let reports = new Map<string, DeviceReport>()
  let dwells: ReportedDwell[] = []
  let moments = new Map<string, ReportedMoment>()

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
    noteMoment(moment) {
      const known = moments.get(moment.deviceId)
      if (known) foldMoment(known, moment)
      else moments.set(moment.deviceId, moment)
    },
    take() {
      const taken = { reports: [...reports.values()], dwells, moments: [...moments.values()] }
      reports = new Map()
      dwells = []
      moments = new Map()
      return taken
    },
  }
}
