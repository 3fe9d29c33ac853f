import { applyDeviceReports, type DeviceReport, foldReports } from '#fleet/device-status'
import type { Logger } from '#http/request-log'
import type { Pool } from '#postgres/pool'
import type { DeviceGrant } from './device-grants.ts'

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

/**
 * Tells Postgres which devices are alive and what they say, in batches. Being heard of is known at accept, so devices
 * stay online while the telemetry database is away; firmware, faults and fixes follow when their samples are stored.
 */
export function createPresence({ pool, logger }: { pool: Pool; logger: Logger }): Presence {
  const heard = new Map<string, { organizationId: string; seenAtMs: number }>()
  const writtenAtMs = new Map<string, number>()
  let told: DeviceReport[] = []

  function takeDue(nowMs: number): DeviceReport[] {
    const due = told
    told = []
    const many = heard.size > fewDevices
    for (const [deviceId, { organizationId, seenAtMs }] of heard) {
      if (many && nowMs - (writtenAtMs.get(deviceId) ?? 0) < quietMs) continue
      heard.delete(deviceId)
      due.push({ deviceId, organizationId, seenAtMs })
    }
    return [...foldReports(due).values()]
  }

  return {
    seen({ deviceId, organizationId }, receivedAtMs) {
      heard.set(deviceId, { organizationId, seenAtMs: receivedAtMs })
    },
    told(reports) {
      told.push(...reports)
    },
    async flush() {
      const nowMs = Date.now()
      const due = takeDue(nowMs)
      if (due.length === 0) return
      try {
        await applyDeviceReports(pool, due)
        for (const { deviceId } of due) writtenAtMs.set(deviceId, nowMs)
      } catch (error) {
        told = [...foldReports([...due, ...told]).values()]
        logger.warn({ devices: told.length, error: error instanceof Error ? error.name : 'unknown' }, 'presence waits')
      }
    },
  }
}
