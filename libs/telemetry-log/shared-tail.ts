import type { LogPosition } from '#telemetry-log/log'

/** Shares the durable end of the log with another thread without messages: the hot path only stores two numbers. */
export type SharedTail = {
  publish(position: LogPosition): void
  position(): LogPosition
  /** Resolves when the tail is beyond `position`, or after `timeoutMs`. */
  waitBeyond(position: LogPosition, timeoutMs: number): Promise<void>
}

/** Memory for one tail, to be handed to `openSharedTail` in every thread. */
export const createSharedTailMemory = (): SharedArrayBuffer => new SharedArrayBuffer(16)

export function openSharedTail(memory: SharedArrayBuffer): SharedTail {
  const end = new BigInt64Array(memory, 0, 1)
  const changes = new Int32Array(memory, 8, 1)
  const position = () => Number(Atomics.load(end, 0))
  return {
    publish(next) {
      Atomics.store(end, 0, BigInt(next))
      Atomics.add(changes, 0, 1)
      Atomics.notify(changes, 0)
    },
    position,
    async waitBeyond(reached, timeoutMs) {
      const seen = Atomics.load(changes, 0)
      if (position() > reached) return
      await Atomics.waitAsync(changes, 0, seen, timeoutMs).value
    },
  }
}
