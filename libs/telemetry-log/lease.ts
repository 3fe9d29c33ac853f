import { isSuperseded } from '#telemetry-log/lock-file'

/** The right to write in a folder, as every thread of its holder can check it. Can be sent to another thread. */
export type Lease = {
  folder: string
  generation: number
  /** Two 64-bit numbers, when the lock was last seen to be ours (monotonic ns, wall clock ms), and a flag for its loss. */
  memory: SharedArrayBuffer
}

/** So long after it was confirmed a lease counts as held without a look at the folder. */
export const confirmedForMs = 3_000

/** A lease that was confirmed just now. */
export function createLease(folder: string, generation: number): Lease {
  const lease = { folder, generation, memory: new SharedArrayBuffer(24) }
  confirmLease(lease)
  return lease
}

/** Looks at the folder, and notes the time when the lock is still ours. Returns false once it is lost. */
export function confirmLease(lease: Lease): boolean {
  const times = new BigInt64Array(lease.memory, 0, 2)
  // Taken before the look: whoever takes the lock after it waits from then on.
  const [monotonicNs, wallMs] = [process.hrtime.bigint(), BigInt(Date.now())]
  if (isSuperseded(lease.folder, lease.generation)) {
    Atomics.store(new Int32Array(lease.memory, 16, 1), 0, 1)
    return false
  }
  Atomics.store(times, 0, monotonicNs)
  Atomics.store(times, 1, wallMs)
  return true
}

/**
 * True when what this process made durable before the call belongs to the folder's log. A process that was frozen looks
 * at the folder again first: another may have taken it over meanwhile. The monotonic clock stands still while a virtual
 * machine is suspended, so a jump of the wall clock counts as a gap too.
 */
export function isLeaseHeld(lease: Lease): boolean {
  if (Atomics.load(new Int32Array(lease.memory, 16, 1), 0) === 1) return false
  const times = new BigInt64Array(lease.memory, 0, 2)
  const wallGapMs = Math.abs(Date.now() - Number(Atomics.load(times, 1)))
  if (leaseAgeMs(lease) <= confirmedForMs && wallGapMs <= confirmedForMs) return true
  return confirmLease(lease)
}

/** Milliseconds since the lock was last seen to be ours. */
export function leaseAgeMs({ memory }: Lease): number {
  const confirmedNs = Atomics.load(new BigInt64Array(memory, 0, 2), 0)
  return Number(process.hrtime.bigint() - confirmedNs) / 1e6
}
