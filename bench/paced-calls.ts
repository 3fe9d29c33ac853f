import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'

/** Sends calls one after the other at a steady rate until stopped. Measures every call, including late ones. */
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
    /** Returns the duration of each call in milliseconds. Throws the error of the first failed call. */
    async stop(): Promise<number[]> {
      stopped = true
      await looping
      await Promise.all(running)
      if (failure) throw failure
      return timesMs
    },
  }
}
