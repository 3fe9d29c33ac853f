import type { LogPosition, PartitionTail } from '#telemetry-log/log'

/** Shares the durable end of a partition with another thread without messages: the hot path only stores two numbers. */
export type SharedTail = PartitionTail & { publish(position: LogPosition): void }

/** Memory for one tail, to be handed to `openSharedTail` in every thread. */
export const createSharedTailMemory = (): SharedArrayBuffer => new SharedArrayBuffer(24)

export function openSharedTail(memory: SharedArrayBuffer): SharedTail {
  const end = new BigInt64Array(memory, 0, 1)
  const changes = new Int32Array(memory, 8, 1)
  const awaited = new BigInt64Array(memory, 16, 1)
  const position = () => Number(Atomics.load(end, 0))
  return {
    publish(next) {
      Atomics.store(end, 0, BigInt(next))
      Atomics.add(changes, 0, 1)
      // Waking a thread takes longer than all the rest.
      if (next > Atomics.load(awaited, 0)) Atomics.notify(changes, 0)
    },
    position,
    waitingBytes: (from) => position() - from,
    async waitBeyond(reached, timeoutMs) {
      // Stored before the tail is read, so that either this thread sees a new tail or the publisher sees what is awaited.
      Atomics.store(awaited, 0, BigInt(reached))
      const seen = Atomics.load(changes, 0)
      if (position() > reached) return
      await Atomics.waitAsync(changes, 0, seen, timeoutMs).value
    },
    wake() {
      Atomics.add(changes, 0, 1)
      Atomics.notify(changes, 0)
    },
  }
}
