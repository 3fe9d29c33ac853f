import type { Clock } from '#core/clock'
import { type DeviceIdentity, type HandedOutJob, takeJobs } from '#fleet/jobs/delivery'
import type { Pool } from '#postgres/pool'
import { coalesce } from '#queue/coalesce'

export type Mailbox = {
  /** The device's next job; without one, waits until one comes, `waitMs` have passed, or nobody may have it any more. */
  next(device: DeviceIdentity, waitMs: number, isGone: IsGone): Promise<HandedOutJob | undefined>
  /** Jobs may have come for these devices (for everybody, when undefined). */
  wake(deviceIds?: readonly string[]): void
  waitingCount(): number
  /** Sends everybody who waits away, and lets nobody wait any more. */
  close(): void
}

/** Whether the caller has hung up, or has lost the right to what would be handed out. */
type IsGone = () => boolean

type Waiter = {
  device: DeviceIdentity
  isGone: IsGone
  untilMs: number
  /** Its jobs are being looked for right now. */
  looking: boolean
  /** A job may have come since that look began. */
  rung: boolean
  resolve: (job: HandedOutJob | undefined) => void
  reject: (error: unknown) => void
}

/** Devices whose jobs are taken in one transaction. */
const takenTogether = 200

/** How late the end of waiting, or a caller that has gone, may be noticed. */
const sweepMs = 200

/**
 * Where devices wait for jobs. One that waits costs a map entry, no connection, no query, no timer and no listener: a
 * sweep over all of them finds whose time is over. Those woken in the same moment share one transaction.
 */
export function createMailbox({ pool, clock }: { pool: Pool; clock: Clock }): Mailbox {
  const waiting = new Map<string, Waiter[]>()
  let sweeping: NodeJS.Timeout | undefined
  let closed = false

  const take = coalesce(async (devices: readonly DeviceIdentity[]) => {
    const taken = await takeJobs({ pool, clock }, devices)
    return ({ deviceId }: DeviceIdentity) => taken.get(deviceId)
  }, takenTogether)

  const isOver = ({ isGone, untilMs }: Waiter) => closed || performance.now() >= untilMs || isGone()

  function enter(waiter: Waiter): void {
    const { deviceId } = waiter.device
    waiting.set(deviceId, [...(waiting.get(deviceId) ?? []), waiter])
    sweeping ??= setInterval(sweep, sweepMs)
  }

  function leave(waiter: Waiter): void {
    const { deviceId } = waiter.device
    const others = waiting.get(deviceId)?.filter((other) => other !== waiter) ?? []
    if (others.length > 0) waiting.set(deviceId, others)
    else waiting.delete(deviceId)
    if (waiting.size > 0) return
    clearInterval(sweeping)
    sweeping = undefined
  }

  function end(waiter: Waiter, job?: HandedOutJob): void {
    leave(waiter)
    waiter.resolve(job)
  }

  async function look(waiter: Waiter): Promise<void> {
    waiter.looking = true
    try {
      do {
        waiter.rung = false
        const job = await take(waiter.device)
        if (job || isOver(waiter)) return end(waiter, job)
      } while (waiter.rung)
      waiter.looking = false
    } catch (error) {
      leave(waiter)
      waiter.reject(error)
    }
  }

  function ring(waiter: Waiter): void {
    if (waiter.looking) waiter.rung = true
    else if (waiter.isGone()) end(waiter)
    else void look(waiter)
  }

  function sweep(): void {
    for (const waiters of waiting.values()) {
      for (const waiter of waiters) if (!waiter.looking && isOver(waiter)) end(waiter)
    }
  }

  const wake = (deviceIds: Iterable<string> = [...waiting.keys()]) => {
    for (const deviceId of deviceIds) waiting.get(deviceId)?.forEach(ring)
  }

  return {
    next: (device, waitMs, isGone) =>
      new Promise((resolve, reject) => {
        const untilMs = performance.now() + waitMs
        const waiter = { device, isGone, untilMs, looking: false, rung: false, resolve, reject }
        // It can be woken before it looks, so that a job that comes in between is not missed.
        enter(waiter)
        ring(waiter)
      }),
    wake,
    waitingCount: () => waiting.size,
    close() {
      closed = true
      wake()
    },
  }
}
