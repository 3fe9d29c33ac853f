import type { Clock } from '#core/clock'
import { type DeviceIdentity, type HandedOutJob, takeJobs } from '#fleet/job-delivery'
import type { Pool } from '#postgres/pool'
import { coalesce } from '#queue/coalesce'

/** Where the caller came from, which says when it has hung up: its socket. */
export type Caller = {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

export type Mailbox = {
  /** The device's next job; without one, waits until one comes, `waitMs` have passed, or the caller has gone. */
  next(device: DeviceIdentity, waitMs: number, caller: Caller): Promise<HandedOutJob | undefined>
  /** Jobs may have come for these devices (for everybody, when undefined). */
  wake(deviceIds?: readonly string[]): void
  waitingCount(): number
  /** Sends everybody who waits away, and lets nobody wait any more. */
  close(): void
}

/** Devices whose jobs are taken in one transaction. */
const takenTogether = 200

/**
 * Where devices wait for jobs. One that waits costs a map entry and a timer, no connection and no query; those woken in
 * the same moment share one transaction.
 */
export function createMailbox({ pool, clock }: { pool: Pool; clock: Clock }): Mailbox {
  const waiting = new Map<string, Set<() => void>>()
  let closed = false

  const take = coalesce(async (devices: readonly DeviceIdentity[]) => {
    const taken = await takeJobs(pool, devices, clock())
    return ({ deviceId }: DeviceIdentity) => taken.get(deviceId)
  }, takenTogether)

  /** Begins to listen at once; `woken` resolves with false when the time is over first. */
  function listenFor(deviceId: string, waitMs: number, caller: Caller) {
    const { promise: woken, resolve } = Promise.withResolvers<boolean>()
    const listeners = waiting.get(deviceId) ?? new Set()
    const ring = () => resolve(!closed)
    const giveUp = () => resolve(false)
    const timer = setTimeout(giveUp, waitMs)
    waiting.set(deviceId, listeners.add(ring))
    caller.once('close', giveUp)
    return {
      woken,
      leave() {
        clearTimeout(timer)
        caller.off('close', giveUp)
        listeners.delete(ring)
        if (listeners.size === 0 && waiting.get(deviceId) === listeners) waiting.delete(deviceId)
      },
    }
  }

  const wake = (deviceIds: Iterable<string> = [...waiting.keys()]) => {
    for (const deviceId of deviceIds) for (const ring of waiting.get(deviceId) ?? []) ring()
  }

  return {
    async next(device, waitMs, caller) {
      const untilMs = performance.now() + waitMs
      for (;;) {
        // Listening begins before looking, so that a job that comes in between is not missed.
        const call = listenFor(device.deviceId, Math.max(0, untilMs - performance.now()), caller)
        try {
          if (caller.destroyed) return undefined
          const job = await take(device)
          if (job || closed) return job
          if (!(await call.woken)) return undefined
        } finally {
          call.leave()
        }
      }
    },
    wake,
    waitingCount: () => waiting.size,
    close() {
      closed = true
      wake()
    },
  }
}
