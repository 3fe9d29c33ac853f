import { statfs } from 'node:fs/promises'
import { ServiceError } from '#core/errors'
import type { DeviceTraffic } from './device-traffic.ts'

export type Backlog = {
  /** Throws 429 (over the fair share while the log fills up) or 503 (no room left), both with `Retry-After`. */
  admit(deviceId: string, nowMs: number): void
  /** Bytes that wait, and the budget they must stay in. */
  figures(): { bytes: number; budgetBytes: number }
  isFull(): boolean
  /** Looks at the disk again. */
  measure(): Promise<void>
}

const defaultBudgetBytes = 10 * 1024 ** 3
const tightShare = 0.7
const fullShare = 0.9
/** Below this much free disk nothing is taken on, whatever the budget says: other things need the disk as well. */
const reservedBytes = 64 * 1024 ** 2

/** How full the log is, against its budget and against the disk it lies on. */
export async function createBacklog(parts: {
  folder: string
  budgetBytes: number | undefined
  traffic: DeviceTraffic
  /** Bytes between what is stored and the end of the log. */
  waitingBytes: () => number
}): Promise<Backlog> {
  const { folder, traffic, waitingBytes } = parts
  let freeBytes = await freeBytesOf(folder)
  const budgetBytes = parts.budgetBytes ?? Math.min(defaultBudgetBytes, Math.floor((freeBytes + waitingBytes()) / 2))

  const isFull = () => waitingBytes() >= fullShare * budgetBytes || freeBytes < reservedBytes
  return {
    admit(deviceId, nowMs) {
      if (isFull()) throw noRoom()
      if (waitingBytes() < tightShare * budgetBytes || !traffic.isOverFairShare(deviceId, nowMs)) return
      throw new ServiceError(429, 'backlog', 'The service is catching up and this device sends more than its share.', {
        headers: { 'Retry-After': jitteredSeconds() },
      })
    },
    figures: () => ({ bytes: waitingBytes(), budgetBytes }),
    isFull,
    async measure() {
      freeBytes = await freeBytesOf(folder)
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

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
