import type { LoggedBatch } from '#telemetry-log/log'

/** Told of reports and devices that fail although the database is there. */
export type OnFailure = {
  /** The report is not tried any more: keep it aside and say so. */
  report: (batch: LoggedBatch, error: unknown) => void | Promise<void>
  /** The times of the device whose rows could not be aligned again, or its track could not be recovered. */
  device: (deviceId: string, error: unknown) => void
}

export type FailingReports = {
  /** How often to try the next failing report of the device. */
  attempts(deviceId: string, nowMs: number): number
  note(deviceId: string, nowMs: number): void
}

const attempts = 3
const rememberedMs = 60 * 60_000
const remembered = 10_000

/**
 * Remembers devices whose reports were set aside lately: trying again takes the time of all devices, and the next report
 * of such a device will hardly fare better.
 */
export function createFailingReports(): FailingReports {
  const failedAtMs = new Map<string, number>()
  return {
    attempts: (deviceId, nowMs) => (nowMs - (failedAtMs.get(deviceId) ?? -Infinity) < rememberedMs ? 1 : attempts),
    note(deviceId, nowMs) {
      failedAtMs.delete(deviceId)
      failedAtMs.set(deviceId, nowMs)
      if (failedAtMs.size <= remembered) return
      for (const oldest of failedAtMs.keys()) {
        failedAtMs.delete(oldest)
        return
      }
    },
  }
}
