import { afterAll, beforeAll, expect, test } from 'vitest'
import { deviceCalls } from '#test/job-service'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

// A device has one exclusive job at a time. A batch that hands nothing out must not keep the device for itself.

let service: WholeService
beforeAll(async () => {
  service = await startWholeService()
}, 120_000)
afterAll(() => service.close())

const patienceMs = 60_000

const call = (method: string, path: string, token: string, body?: unknown) =>
  deviceCalls(service.url, token).call(method, path, body)

/** An organization of its own with one router in one group, and what its operator and the router may ask. */
async function newRouter() {
  const admin = (method: string, path: string, body?: unknown) => call(method, path, service.adminKey, body)
  const { id: organizationId } = (await admin('POST', '/orgs', { name: 'Buses', plan: 'pro' })).body
  const device = { organizationId, serial: 'SN-1', name: 'Bus 1', model: 'RX400', tags: ['bus'] }
  const { id: deviceId } = (await admin('POST', '/devices', device)).body
  const { token } = (await admin('POST', `/devices/${deviceId}/token`)).body
  const group = await admin('POST', `/orgs/${organizationId}/groups`, { name: 'Buses', smartTags: ['bus'] })
  const batches = `/orgs/${organizationId}/job-batches`
  /** Waits until the router is handed a job. */
  const take = () =>
    until(
      'a job to take',
      async () => {
        const answer = await call('GET', '/device/jobs/next?waitSeconds=5', token)
        return answer.status === 200 && (answer.body as { id: string; attempt: number })
      },
      patienceMs,
    )
  /** Reports that the job succeeded; returns its id. */
  const finish = async ({ id, attempt }: { id: string; attempt: number }): Promise<string> => {
    const answer = await call('POST', `/device/jobs/${id}/status`, token, { attempt, status: 'succeeded' })
    expect(answer.status).toBe(200)
    return id
  }
  const jobOf = async (jobId: string) => (await admin('GET', `/orgs/${organizationId}/jobs/${jobId}`)).body
  return {
    organizationId,
    jobOf,
    async newBatch(job: object): Promise<{ id: string; jobId: string }> {
      const { body } = await admin('POST', `/orgs/${organizationId}/groups/${group.body.id}/jobs`, job)
      return { id: body.id, jobId: body.jobs[0].id }
    },
    newJob: async (job: object): Promise<string> => (await admin('POST', `/devices/${deviceId}/jobs`, job)).body.id,
    pause: (batchId: string) => admin('POST', `${batches}/${batchId}/pause`),
    resume: (batchId: string) => admin('POST', `${batches}/${batchId}/resume`),
    becomes: (jobId: string, status: string) =>
      until(`${jobId} is ${status}`, async () => (await jobOf(jobId)).status === status, patienceMs),
    take,
    finish,
    carryOut: async () => finish(await take()),
  }
}

type Router = Awaited<ReturnType<typeof newRouter>>

/** Moves the daily window of a batch away from now; the API fixes a window when it creates the batch. */
async function closeWindow(batchId: string): Promise<void> {
  const time = (inMs: number) => new Date(Date.now() + inMs).toISOString().slice(11, 16)
  const window = { from: time(3_600_000), to: time(7_200_000), timeZone: 'UTC' }
  await service.pool.query('UPDATE job_batch SET schedule = $2 WHERE id = $1', [batchId, JSON.stringify({ window })])
}
async function openWindow(batchId: string): Promise<void> {
  await service.pool.query('UPDATE job_batch SET schedule = NULL, window_open = true WHERE id = $1', [batchId])
}

const waysToHoldBack = [
  {
    batch: 'a paused batch',
    holdBack: (router: Router, batchId: string) => router.pause(batchId),
    goOn: (router: Router, batchId: string) => router.resume(batchId),
  },
  {
    batch: 'a batch whose window is closed',
    holdBack: async (_: Router, batchId: string) => {
      await closeWindow(batchId)
      await until('the window is closed', async () => {
        const { rows } = await service.pool.query('SELECT FROM job_batch WHERE id = $1 AND NOT window_open', [batchId])
        return rows.length > 0
      })
    },
    goOn: (_: Router, batchId: string) => openWindow(batchId),
  },
]

test.each(waysToHoldBack)(
  'a job dispatched by $batch gives way to a newer one and goes later',
  {
    timeout: 4 * patienceMs,
  },
  async ({ holdBack, goOn }) => {
    const router = await newRouter()
    const batch = await router.newBatch({ kind: 'reboot' })
    await router.becomes(batch.jobId, 'dispatched')
    await holdBack(router, batch.id)
    const newer = await router.newJob({ kind: 'reboot' })
    expect(await router.carryOut()).toBe(newer)
    await goOn(router, batch.id)
    expect(await router.carryOut()).toBe(batch.jobId)
    const { status, attempt, history } = await router.jobOf(batch.jobId)
    expect({ status, attempt }).toEqual({ status: 'succeeded', attempt: 1 })
    expect(history.map((step: { status: string }) => step.status)).toEqual([
      'queued',
      'dispatched',
      'queued',
      'dispatched',
      'inProgress',
      'succeeded',
    ])
  },
)

test('a job that the device has taken keeps the device while its batch is paused', {
  timeout: 4 * patienceMs,
}, async () => {
  const router = await newRouter()
  const batch = await router.newBatch({ kind: 'reboot' })
  const taken = await router.take()
  await router.pause(batch.id)
  const newer = await router.newJob({ kind: 'reboot' })
  await until('the newer job waits for the device', async () => {
    const { rows } = await service.pool.query("SELECT FROM job WHERE id = $1 AND hold = 'device'", [newer])
    return rows.length > 0
  })
  expect(await router.finish(taken)).toBe(batch.jobId)
  expect(await router.finish(await router.take())).toBe(newer)
})
