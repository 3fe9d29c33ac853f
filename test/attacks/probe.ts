import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '#core/error-text'
import type { Wait } from './bystander-messages.ts'
import { attempt } from './http-attempt.ts'

export type Probe = {
  reset(): void
  /** The longest wait since `reset`, including the request in progress. */
  wait(): Wait
  /** Resolves when a request that started after this call is finished. */
  drain(): Promise<void>
}

const attemptLimitMs = 20_000
const pauseAfterFailureMs = 50

/**
 * Requests `url` repeatedly, one request at a time. A wait lasts from the first attempt to the first response with the
 * expected status, so refusals and broken connections lengthen it.
 */
export function startProbe(options: {
  url: string
  everyMs: number
  headers?: Record<string, string>
  /** The status that ends a wait; default 200. */
  expected?: number
  /** Keeps one connection open. Otherwise each request opens a connection, like the health checks of load balancers. */
  keepAlive?: boolean
}): Probe {
  const { url, everyMs, headers = {}, expected = 200 } = options
  const agent = options.keepAlive ? new Agent({ keepAlive: true, maxSockets: 1 }) : undefined
  let wait: Wait = { longestMs: 0, count: 0, failures: 0 }
  let begunMs: number | undefined
  let waiting: { beganAfterMs: number; resolve(): void }[] = []

  async function answeredAsExpected(): Promise<boolean> {
    try {
      const answer = await attempt({ url, headers, timeoutMs: attemptLimitMs, ...(agent && { agent }) })
      if (answer.status === expected) return true
      fail(`${answer.status} ${answer.body.slice(0, 200)}`)
    } catch (error) {
      fail(errorText(error))
    }
    return false
  }

  function fail(reason: string): void {
    wait.failures += 1
    wait.lastFailure = reason
  }

  async function run(): Promise<never> {
    for (;;) {
      const startedMs = performance.now()
      begunMs = startedMs
      while (!(await answeredAsExpected())) await delay(pauseAfterFailureMs)
      const tookMs = performance.now() - startedMs
      begunMs = undefined
      wait.longestMs = Math.max(wait.longestMs, tookMs)
      wait.count += 1
      const stillWaiting = waiting.filter(({ beganAfterMs }) => beganAfterMs > startedMs)
      for (const one of waiting) if (!stillWaiting.includes(one)) one.resolve()
      waiting = stillWaiting
      await delay(Math.max(0, everyMs - tookMs))
    }
  }

  void run()
  return {
    reset() {
      wait = { longestMs: 0, count: 0, failures: 0 }
    },
    wait() {
      const soFarMs = begunMs === undefined ? 0 : performance.now() - begunMs
      return { ...wait, longestMs: Math.max(wait.longestMs, soFarMs) }
    },
    drain: () => new Promise((resolve) => waiting.push({ beganAfterMs: performance.now(), resolve })),
  }
}
