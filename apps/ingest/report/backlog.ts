import { ServiceError } from '#core/errors'
import { folderBytes, freeBytes } from '#telemetry-log/checkpoints/folder-bytes'
import { reservedDiskBytes } from '#telemetry-log/segments/log-budget'
import type { DeviceTraffic } from '../http/device-traffic.ts'
import { jitteredSeconds, noRoom } from '../http/no-room.ts'

export type Backlog = {
  /** Throws 429 for a device over its fair share while the log fills up, and 503 if the log is full. */
  admit(deviceId: string, nowMs: number): void
  /** Returns the bytes that are not stored yet, the size of all files of the log, and its limit. */
  figures(): { waitingBytes: number; logBytes: number; budgetBytes: number }
  isFull(): boolean
  /** Measures the folder and its disk. */
  measure(): void
}

const tightShare = 0.7
const fullShare = 0.9

/** Rejects reports when the log reaches its limit, its disk is full or its queue is full. */
export function createBacklog(parts: {
  folder: string
  budgetBytes: number
  traffic: DeviceTraffic
  /** The sum of the positions of all partitions. */
  tailPosition: () => number
  storedPosition: () => number
  /** Returns whether the queue of appends is full: the one of the device's partition, or any. */
  isQueueFull: (deviceId?: string) => boolean
}): Backlog {
  const { folder, budgetBytes, traffic, tailPosition, storedPosition, isQueueFull } = parts
  const measure = () => ({ logBytes: folderBytes(folder), freeBytes: freeBytes(folder), position: tailPosition() })
  let measured = measure()

  const logBytes = () => measured.logBytes + tailPosition() - measured.position
  const isFull = (deviceId?: string) =>
    logBytes() >= fullShare * budgetBytes || measured.freeBytes < reservedDiskBytes || isQueueFull(deviceId)
  return {
    admit(deviceId, nowMs) {
      if (isFull(deviceId)) throw noRoom()
      if (logBytes() < tightShare * budgetBytes || !traffic.isOverFairShare(deviceId, nowMs)) return
      throw new ServiceError(
        429,
        'backlog',
        'The service has a backlog and the device sends more than its fair share. Retry later.',
        {
          headers: { 'Retry-After': jitteredSeconds() },
        },
      )
    },
    figures: () => ({ waitingBytes: tailPosition() - storedPosition(), logBytes: logBytes(), budgetBytes }),
    isFull: () => isFull(),
    measure() {
      measured = measure()
    },
  }
}
