import { applyDeviceReports, type DeviceReport, foldReport } from '#fleet/devices/status'
import type { Logger } from '#http/request-log'
import { bisect } from '#postgres/bisect'
import type { Pool } from '#postgres/pool'
import type { DeviceGrant } from './access/device-grants.ts'

export type Presence = {
  /** The device was heard of; costs one map entry. */
  seen(grant: DeviceGrant, receivedAtMs: number): void
  /** What its stored samples say about the device. */
  told(reports: readonly DeviceReport[]): void
  /** Writes what came since the last time; what cannot be written is kept for the next. */
  flush(): Promise<void>
}

/** A device that only says it is still there is written at most this often, once many of them do. */
const quietMs = 15_000
const fewDevices = 2_000
/** So many are written in one transaction: all devices together, after an outage, would be over its time limit for ever. */
const writtenTogether = 5_000

/**
 * Tells Postgres which devices are alive and what they say, in batches. Being heard of is known at accept, so devices
 * stay online while the telemetry database is away; firmware, faults and fixes follow when their samples are stored.
 */
export function createPresence({ pool, logger }: { pool: Pool; logger: Logger }): Presence {
  const heard = new Map<string, { organizationId: string; seenAtMs: number }>()
  const writtenAtMs = new Map<string, number>()
  const told = new Map<string, DeviceReport>()

  function keep(report: DeviceReport): void {
    const known = told.get(report.deviceId)
    told.set(report.deviceId, known ? foldReport(known, report) : report)
  }

  function takeDue(nowMs: number): DeviceReport[] {
    const many = heard.size > fewDevices
    for (const [deviceId, { organizationId, seenAtMs }] of heard) {
      if (many && nowMs - (writtenAtMs.get(deviceId) ?? 0) < quietMs) continue
      heard.delete(deviceId)
      keep({ deviceId, organizationId, seenAtMs })
    }
    const due = [...told.values()]
    told.clear()
    return due
  }

  async function write(reports: readonly DeviceReport[], nowMs: number): Promise<void> {
    await applyDeviceReports(pool, reports)
    for (const { deviceId } of reports) {
      writtenAtMs.delete(deviceId)
      writtenAtMs.set(deviceId, nowMs)
    }
  }

  /** The ones written longest ago stand first. */
  function forgetQuiet(nowMs: number): void {
    for (const [deviceId, atMs] of writtenAtMs) {
      if (nowMs - atMs < quietMs) return
      writtenAtMs.delete(deviceId)
    }
  }

  return {
    seen({ deviceId, organizationId }, receivedAtMs) {
      heard.set(deviceId, { organizationId, seenAtMs: receivedAtMs })
    },
    told(reports) {
      for (const report of reports) keep(report)
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
            ({ deviceId }, error) => logger.error({ deviceId, error: nameOf(error) }, 'a report cannot be written'),
          )
        } catch (error) {
          for (const report of due.slice(start)) keep(report)
          logger.warn({ devices: told.size, error: nameOf(error) }, 'presence waits')
          return
        }
      }
    },
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'unknown')
