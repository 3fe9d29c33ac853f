import type { HandedOutJob, JobDevice } from '#fleet/jobs/delivery'
import type { TakeJob } from './take-line.ts'

export type Mailbox = {
  /**
   * Returns the device's next job. Waits for one until `waitMs` have passed or `isGone` returns true, and at least 8 s if the
   * device has jobs that wait for a good moment.
   */
  next(device: JobDevice, waitMs: number, isGone: IsGone): Promise<HandedOutJob | undefined>
  /** Checks for jobs of these waiting devices, or of all. */
  wake(deviceIds?: readonly string[]): void
  waitingCount(): number
  /** Ends all waits. Later calls do not wait. */
  close(): void
}

/** Returns whether the caller has disconnected or may no longer receive jobs. */
type IsGone = () => boolean

/**
 * What a waiter is doing:
 * - `waiting`: until a wake or the end of its time;
 * - `checking`: a query for its jobs is running;
 * - `woken`: the same, and a job may have arrived since the query began, so another one follows.
 *
 *     waiting ── wake ──▶ checking ── wake ──▶ woken
 *        ▲                 │  ▲                  │
 *        └──── no job ─────┘  └──── no job ──────┘     a job, or the end of its time while checking: the wait ends
 */
type WaiterState = 'waiting' | 'checking' | 'woken'

type Waiter = {
  device: JobDevice
  isGone: IsGone
  startedMs: number
  untilMs: number
  state: WaiterState
  resolve: (job: HandedOutJob | undefined) => void
  reject: (error: unknown) => void
}

/**
 * A device whose job waits for a good moment waits at least this long, because it asks right after a report which may be that moment,
 * and the report is processed meanwhile.
 */
const heldWaitMs = 8_000

/** Interval to check for expired waits and disconnected callers. */
const sweepMs = 200

/**
 * Holds the devices that wait for jobs. A waiting device costs a map entry, but no connection, query, timer or listener: a
 * sweep over all waiting devices ends expired waits.
 */
export function createMailbox(take: TakeJob): Mailbox {
  const waiting = new Map<string, Waiter[]>()
  let sweeping: NodeJS.Timeout | undefined
  let closed = false

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

  async function check(waiter: Waiter): Promise<void> {
    try {
      do {
        waiter.state = 'checking'
        const taken = await take(waiter.device)
        const job = taken === 'held' ? undefined : taken
        if (taken === 'held') waiter.untilMs = Math.max(waiter.untilMs, waiter.startedMs + heldWaitMs)
        if (job || isOver(waiter)) return end(waiter, job)
      } while (isWoken(waiter))
      waiter.state = 'waiting'
    } catch (error) {
      leave(waiter)
      waiter.reject(error)
    }
  }

  function wakeOne(waiter: Waiter): void {
    if (waiter.state !== 'waiting') waiter.state = 'woken'
    else if (waiter.isGone()) end(waiter)
    else void check(waiter)
  }

  function sweep(): void {
    for (const waiters of waiting.values()) {
      for (const waiter of waiters) if (waiter.state === 'waiting' && isOver(waiter)) end(waiter)
    }
  }

  const wake = (deviceIds: Iterable<string> = [...waiting.keys()]) => {
    for (const deviceId of deviceIds) waiting.get(deviceId)?.forEach(wakeOne)
  }

  return {
    next: (device, waitMs, isGone) =>
      new Promise((resolve, reject) => {
        const startedMs = performance.now()
        const untilMs = startedMs + waitMs
        const waiter: Waiter = { device, isGone, startedMs, untilMs, state: 'waiting', resolve, reject }
        // Register before the check, so that a job that arrives in between is not missed.
        enter(waiter)
        wakeOne(waiter)
      }),
    wake,
    waitingCount: () => waiting.size,
    close() {
      closed = true
      wake()
    },
  }
}

/** A wake may change the state during a query, which the compiler does not know. */
const isWoken = ({ state }: Waiter): boolean => state === 'woken'
