import type { LoggedBatch } from '#telemetry-log/log'

/** Receives reports and devices that fail although the database is available. */
export type OnFailure = {
  /** The report is not retried: store it as a dead letter and count it. */
  report: (batch: LoggedBatch, error: unknown) => void | Promise<void>
  /** Time ranges of a device that could not be realigned, or whose track could not be recovered. */
  device: (deviceId: string, error: unknown) => void
}

export type FailingReports = {
  /** How often to retry the next failing report of the device. */
  attempts(deviceId: string, nowMs: number): number
  note(deviceId: string, nowMs: number): void
}

const attempts = 3
const rememberedMs = 60 * 60_000
const remembered = 10_000

/**
 * Keeps devices whose reports failed recently. Retries delay all devices, and the next report of such a device probably
 * fails too.
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
