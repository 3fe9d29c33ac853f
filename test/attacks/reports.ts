import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '#core/error-text'
import type { Wait } from './bystander-messages.ts'
import { attempt } from './http-attempt.ts'

export type Reports = {
  reset(): void
  /** The time from a measurement until the sample is readable. Samples that are not yet readable count with their age. */
  wait(): Wait
  acceptedSamples(): number
  /** Resolves when all samples so far are readable. */
  drain(): Promise<void>
  /** Takes no new samples. Resolves when all samples are acknowledged. */
  finish(): Promise<void>
}

type Sample = { tsMs: number; takenMs: number }

const everyMs = 1_000
const pollEveryMs = 200
const attemptLimitMs = 20_000
const pauseAfterFailureMs = 500

/**
 * A router that takes one sample per second and repeats each report until it is acknowledged, and an operator who polls the
 * latest telemetry of the router.
 */
export function startReports(place: {
  url: string
  authorization: string
  device: { id: string; token: string }
}): Reports {
  const { url, authorization, device } = place
  let unsent: Sample[] = []
  let unread: Sample[] = []
  let accepted = 0
  let finishing = false
  let wait: Wait = { longestMs: 0, count: 0, failures: 0 }

  const fail = (reason: string) => {
    wait.failures += 1
    wait.lastFailure = reason
  }

  async function send(samples: readonly Sample[]): Promise<boolean> {
    try {
      const answer = await attempt({
        url: `${url}/telemetry`,
        method: 'POST',
        headers: { authorization: `Bearer ${device.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ samples: samples.map(({ tsMs }) => ({ kind: 'system', ts: tsMs, cpuPct: 1 })) }),
        timeoutMs: attemptLimitMs,
      })
      if (answer.status === 202) return true
      fail(`report: ${answer.status} ${answer.body.slice(0, 200)}`)
    } catch (error) {
      fail(`report: ${errorText(error)}`)
    }
    return false
  }

  /** Returns the time of the newest readable sample in epoch milliseconds; undefined if the read fails. */
  async function newestReadable(): Promise<number | undefined> {
    try {
      const answer = await attempt({
        url: `${url}/api/router/${device.id}/telemetry/latest`,
        headers: { authorization },
        timeoutMs: attemptLimitMs,
      })
      if (answer.status === 200) return Date.parse(JSON.parse(answer.body).system?.ts ?? 0)
      fail(`latest: ${answer.status} ${answer.body.slice(0, 200)}`)
    } catch (error) {
      fail(`latest: ${errorText(error)}`)
    }
    return undefined
  }

  async function takeSamples(): Promise<void> {
    while (!finishing) {
      const sample = { tsMs: Date.now(), takenMs: performance.now() }
      unsent.push(sample)
      unread.push(sample)
      await delay(everyMs)
    }
  }

  async function sendSamples(): Promise<void> {
    while (!finishing || unsent.length > 0) {
      const samples = unsent.slice(0, 1_000)
      if (samples.length > 0 && (await send(samples))) {
        accepted += samples.length
        unsent = unsent.slice(samples.length)
        continue
      }
      await delay(samples.length > 0 ? pauseAfterFailureMs : 20)
    }
  }

  async function readSamples(): Promise<never> {
    for (;;) {
      const newestMs = unread.length > 0 ? await newestReadable() : undefined
      const nowMs = performance.now()
      for (const { tsMs, takenMs } of unread) {
        if (newestMs === undefined || tsMs > newestMs) continue
        wait.longestMs = Math.max(wait.longestMs, nowMs - takenMs)
        wait.count += 1
      }
      unread = unread.filter(({ tsMs }) => newestMs === undefined || tsMs > newestMs)
      await delay(pollEveryMs)
    }
  }

  const sending = Promise.all([takeSamples(), sendSamples()])
  void readSamples()
  return {
    reset() {
      wait = { longestMs: 0, count: 0, failures: 0 }
    },
    wait() {
      const oldest = unread[0]
      const soFarMs = oldest === undefined ? 0 : performance.now() - oldest.takenMs
      return { ...wait, longestMs: Math.max(wait.longestMs, soFarMs) }
    },
    acceptedSamples: () => accepted,
    async drain() {
      const atMs = performance.now()
      while (unread.some(({ takenMs }) => takenMs < atMs)) await delay(50)
    },
    async finish() {
      finishing = true
      await sending
    },
  }
}
