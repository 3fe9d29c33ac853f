import { ServiceError } from '#core/errors'
import { folderBytes, freeBytes } from '#telemetry-log/folder-bytes'
import type { LogPosition } from '#telemetry-log/log'
import { reservedDiskBytes } from '#telemetry-log/log-budget'
import type { DeviceTraffic } from './device-traffic.ts'

export type Backlog = {
  /** Throws 429 (over the fair share while the log fills up) or 503 (no room left), both with `Retry-After`. */
  admit(deviceId: string, nowMs: number): void
  /** Bytes that are not stored yet, bytes of all files of the log, and the budget of those. */
  figures(): { waitingBytes: number; logBytes: number; budgetBytes: number }
  isFull(): boolean
  /** Looks at the folder and its disk again. */
  measure(): void
}

const tightShare = 0.7
const fullShare = 0.9

/** How full the log is, against its budget, against the disk it lies on and against what that disk takes in time. */
export function createBacklog(parts: {
  folder: string
  budgetBytes: number
  traffic: DeviceTraffic
  tailPosition: () => LogPosition
  storedPosition: () => LogPosition
  /** True while as much waits for the disk as may. */
  isQueueFull: () => boolean
}): Backlog {
  const { folder, budgetBytes, traffic, tailPosition, storedPosition, isQueueFull } = parts
  const look = () => ({ logBytes: folderBytes(folder), freeBytes: freeBytes(folder), position: tailPosition() })
  let seen = look()

  const logBytes = () => seen.logBytes + tailPosition() - seen.position
  const isFull = () => logBytes() >= fullShare * budgetBytes || seen.freeBytes < reservedDiskBytes || isQueueFull()
  return {
    admit(deviceId, nowMs) {
      if (isFull()) throw noRoom()
      if (logBytes() < tightShare * budgetBytes || !traffic.isOverFairShare(deviceId, nowMs)) return
      throw new ServiceError(429, 'backlog', 'The service is catching up and this device sends more than its share.', {
        headers: { 'Retry-After': jitteredSeconds() },
      })
    },
    figures: () => ({ waitingBytes: tailPosition() - storedPosition(), logBytes: logBytes(), budgetBytes }),
    isFull,
    measure() {
      seen = look()
    },
  }
}

/** 503: nothing was kept; the device is to keep its samples and come back. */
export const noRoom = () =>
  new ServiceError(503, 'backlog_full', 'The service cannot take on more right now. Keep the samples and try again.', {
    headers: { 'Retry-After': jitteredSeconds() },
  })

/** Spread out, so that a whole fleet does not come back in the same second. */
const jitteredSeconds = () => String(5 + Math.floor(Math.random() * 26))
