import { isSuperseded } from './lock-file.ts'

/** The right to write in a folder. Every thread of the holder can check it. Can be sent to another thread. */
export type Lease = {
  folder: string
  generation: number
  /** Two 64-bit numbers, the time of the last confirmation (monotonic ns, wall clock ms), and a flag for its loss. */
  memory: SharedArrayBuffer
}

/** A lease counts as held for this time after its confirmation, without a check of the folder. */
export const confirmedForMs = 3_000

/** Creates a lease that is confirmed now. */
export function createLease(folder: string, generation: number): Lease {
  const lease = { folder, generation, memory: new SharedArrayBuffer(24) }
  confirmLease(lease)
  return lease
}

/** Checks the folder and confirms the lease if this process still holds the lock. Returns false once it is lost. */
export function confirmLease(lease: Lease): boolean {
  const times = new BigInt64Array(lease.memory, 0, 2)
  // Read the time before the check: a process that takes the lock after the check waits from then on.
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
 * Returns whether data that this process made durable before the call belongs to the folder's log. After a freeze, it
 * checks the folder again, because another process may have taken over. The monotonic clock stops while a virtual machine
 * is suspended, so a jump of the wall clock counts as a freeze too.
 */
export function isLeaseHeld(lease: Lease): boolean {
  if (Atomics.load(new Int32Array(lease.memory, 16, 1), 0) === 1) return false
  const times = new BigInt64Array(lease.memory, 0, 2)
  const wallGapMs = Math.abs(Date.now() - Number(Atomics.load(times, 1)))
  if (leaseAgeMs(lease) <= confirmedForMs && wallGapMs <= confirmedForMs) return true
  return confirmLease(lease)
}

/** Returns the milliseconds since the last confirmation. */
export function leaseAgeMs({ memory }: Lease): number {
  const confirmedNs = Atomics.load(new BigInt64Array(memory, 0, 2), 0)
  return Number(process.hrtime.bigint() - confirmedNs) / 1e6
}
