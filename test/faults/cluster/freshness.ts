import { setTimeout as delay } from 'node:timers/promises'
import type { ReportingDevice } from '#test/reporting-device'
import type { Finding } from '../fault.ts'
import { type Client, createClient } from './client.ts'

type FreshnessWatch = { finish(): Promise<Finding[]> }

const periodMs = 1_000
const oldestAllowedMs = 60_000

/**
 * Reports a sample each second and reads the latest one. The age of a read is the time since the acceptance of the first
 * sample that it does not contain.
 */
export function watchFreshness(baseUrl: string, device: ReportingDevice, operator: Client): FreshnessWatch {
  const router = createClient(baseUrl, device.token)
  const accepted: { tsMs: number; atMs: number }[] = []
  const unannounced: string[] = []
  let oldestMs = 0
  let reads = 0
  let isFinishing = false

  async function report(): Promise<void> {
    while (!isFinishing) {
      const tsMs = Date.now()
      const json = { samples: [{ kind: 'system', ts: tsMs, cpuPct: 5 }] }
      await router.callUntil([202], 'POST', '/telemetry', { json })
      accepted.push({ tsMs, atMs: Date.now() })
      await delay(periodMs)
    }
  }

  async function read(): Promise<void> {
    while (!isFinishing) {
      const startedMs = Date.now()
      const answer = await operator.call('GET', `/api/router/${device.id}/telemetry/latest`)
      if (answer?.status === 200) {
        reads += 1
        const ageMs = ageOf(answer.body as Latest, startedMs)
        oldestMs = Math.max(oldestMs, ageMs)
        if (ageMs > oldestAllowedMs && (await isReady())) unannounced.push(`${seconds(ageMs)} s`)
      }
      await delay(500)
    }
  }

  function ageOf({ system }: Latest, startedMs: number): number {
    const newestMs = system ? Date.parse(system.ts) : 0
    const missing = accepted.find(({ tsMs }) => tsMs > newestMs)
    return missing ? Math.max(0, startedMs - missing.atMs) : 0
  }

  const isReady = () =>
    fetch(`${baseUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )

  const running = Promise.all([report(), read()])
  // `finish` reports the failure.
  running.catch(() => undefined)
  return {
    async finish() {
      isFinishing = true
      await running
      return [
        {
          what: 'no read older than 60 s while /readyz is 200',
          held: unannounced.length === 0 && reads > 0,
          detail: `${reads} reads, the oldest ${seconds(oldestMs)} s${unannounced[0] ? `, unannounced ${unannounced[0]}` : ''}`,
        },
      ]
    },
  }
}

type Latest = { system: { ts: string } | null }

const seconds = (ms: number) => (ms / 1_000).toFixed(1)
