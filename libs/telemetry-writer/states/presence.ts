import { applyDeviceReports, type DeviceReport, foldReport } from '#fleet/devices/reported/device-reports'
import type { Logger } from '#http/request-log'
import { bisect } from '#postgres/bisect'
import type { Pool } from '#postgres/pool'

export type Presence = {
  /** Records that the device has sent a report. */
  seen(device: { deviceId: string; organizationId: string }, receivedAtMs: number): void
  /** Adds what stored samples report about devices. */
  add(reports: readonly DeviceReport[]): void
  /** Writes all changes since the last flush. Keeps those that cannot be written, and then returns false. */
  flush(): Promise<boolean>
}

/** With many devices, the last-seen time of each is written at most this often. */
const quietMs = 15_000
const fewDevices = 2_000
/**
 * A report is usually stored within this time after it was accepted, also while a restarted writer restores its states. With
 * many devices, both are written together. With Kafka, the writer writes both, and this process then has nothing to change.
 */
const storedWithinMs = 30_000
/** Devices per transaction. After an outage, all devices in one transaction would exceed its time limit. */
const writtenTogether = 5_000

/**
 * Writes the last-seen time and state of devices to Postgres in batches. The last-seen time is known at accept, so devices
 * remain online while QuestDB is unavailable. Firmware, faults and fixes follow when their samples are stored.
 */
export function createPresence({ pool, logger }: { pool: Pool; logger: Logger }): Presence {
  const heard = new Map<string, { organizationId: string; seenAtMs: number; heardAtMs: number }>()
  const writtenAtMs = new Map<string, number>()
  const pending = new Map<string, DeviceReport>()

  function keep(report: DeviceReport): void {
    const known = pending.get(report.deviceId)
    pending.set(report.deviceId, known ? foldReport(known, report) : report)
  }

  function takeDue(nowMs: number): DeviceReport[] {
    const many = heard.size > fewDevices
    for (const [deviceId, { organizationId, seenAtMs, heardAtMs }] of heard) {
      const isEarly = nowMs - (writtenAtMs.get(deviceId) ?? 0) < quietMs || nowMs - heardAtMs < storedWithinMs
      if (many && isEarly) continue
      heard.delete(deviceId)
      keep({ deviceId, organizationId, seenAtMs })
    }
    const due = [...pending.values()]
    pending.clear()
    return due
  }

  async function write(reports: readonly DeviceReport[], nowMs: number): Promise<void> {
    await applyDeviceReports({ pool }, reports)
    for (const { deviceId } of reports) {
      writtenAtMs.delete(deviceId)
      writtenAtMs.set(deviceId, nowMs)
    }
  }

  /** Entries are ordered by the time of their last write. */
  function forgetQuiet(nowMs: number): void {
    for (const [deviceId, atMs] of writtenAtMs) {
      if (nowMs - atMs < quietMs) return
      writtenAtMs.delete(deviceId)
    }
  }

  return {
    seen({ deviceId, organizationId }, receivedAtMs) {
      const heardAtMs = heard.get(deviceId)?.heardAtMs ?? Date.now()
      heard.set(deviceId, { organizationId, seenAtMs: receivedAtMs, heardAtMs })
    },
    add(reports) {
      for (const report of reports) {
        keep(report)
        if ((heard.get(report.deviceId)?.seenAtMs ?? Number.POSITIVE_INFINITY) <= report.seenAtMs)
          heard.delete(report.deviceId)
      }
    },
    async flush() {
      const nowMs = Date.now()
      forgetQuiet(nowMs)
      const due = takeDue(nowMs)
      for (let start = 0; start < due.length; start += writtenTogether) {
        const some = due.slice(start, start + writtenTogether)
        try {
          await bisect(
            some,
            (reports) => write(reports, nowMs),
            ({ deviceId }, error) => logger.error({ deviceId, error: nameOf(error) }, 'device_state_rejected'),
          )
        } catch (error) {
          for (const report of due.slice(start)) keep(report)
          logger.warn({ devices: pending.size, error: nameOf(error) }, 'presence_delayed')
          return false
        }
      }
      return true
    },
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown')
