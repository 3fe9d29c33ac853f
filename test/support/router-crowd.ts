import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '#core/clock'
import { type HandedOutJob, type JobDevice, reportJob, takeJobs } from '#fleet/jobs/delivery'
import type { Pool } from '#postgres/pool'

export type RouterCrowd = {
  /** How often each (job, attempt) ran. */
  effects: ReadonlyMap<string, number>
  stop(): Promise<void>
}

const together = 200

/**
 * Simulates routers with bad links that run jobs. Some responses with a job or to a report are lost, and the router repeats
 * its request. Routers remember the attempts that they ran, as the protocol requires.
 */
export function startRouterCrowd(pool: Pool, organizationId: string, deviceIds: readonly string[]): RouterCrowd {
  const effects = new Map<string, number>()
  const system = { pool, clock: systemClock }
  const done = new Set<string>()
  let stopped = false
  const lost = () => Math.random() < 0.1

  async function work(deviceId: string, job: HandedOutJob): Promise<void> {
    const name = `${job.id} ${job.attempt}`
    if (!done.has(name)) {
      done.add(name)
      effects.set(name, (effects.get(name) ?? 0) + 1)
    }
    const report = { attempt: job.attempt, status: 'succeeded' } as const
    for (let answered = false; !answered && !stopped; ) {
      const device = { deviceId, organizationId }
      const answer = await reportJob(system, { device, jobId: job.id, report }).catch(retryLater)
      answered = answer !== undefined && !lost()
    }
  }

  async function retryLater(error: unknown): Promise<undefined> {
    const refused = error instanceof Error && 'status' in error && error.status === 409
    if (refused) throw new Error(`A report was refused: ${error.message}`)
    await delay(200)
  }

  async function round(devices: readonly JobDevice[]): Promise<void> {
    const handedOut = await takeJobs(system, devices).catch(retryLater)
    if (!handedOut) return
    const kept = [...handedOut].filter(() => !lost())
    for (let start = 0; start < kept.length; start += 8) {
      await Promise.all(kept.slice(start, start + 8).map(([deviceId, job]) => work(deviceId, job)))
    }
  }

  const loop = async () => {
    while (!stopped) {
      for (let start = 0; start < deviceIds.length && !stopped; start += together) {
        await round(deviceIds.slice(start, start + together).map((deviceId) => ({ deviceId, organizationId })))
      }
      await delay(50)
    }
  }
  const finished = loop()
  return {
    effects,
    async stop() {
      stopped = true
      await finished
    },
  }
}
