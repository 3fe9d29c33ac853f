import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'

/** Calls one after the other at a steady pace until stopped; every call is timed, those that were late too. */
export function startPacedCalls(call: () => Promise<void>, everyMs: number) {
  const timesMs: number[] = []
  const running = new Set<Promise<void>>()
  let stopped = false
  let failure: unknown
  const one = async () => {
    const startMs = performance.now()
    await call().catch((error: unknown) => {
      failure ??= error
    })
    timesMs.push(performance.now() - startMs)
  }
  const loop = async () => {
    for (let dueMs = performance.now(); !stopped; dueMs += everyMs) {
      await delay(Math.max(0, dueMs - performance.now()))
      const started = one()
      running.add(started)
      void started.finally(() => running.delete(started))
    }
  }
  const looping = loop()
  return {
    /** Milliseconds of every call. Throws what the first failed call threw. */
    async stop(): Promise<number[]> {
      stopped = true
      await looping
      await Promise.all(running)
      if (failure) throw failure
      return timesMs
    },
  }
}
