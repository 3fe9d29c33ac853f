import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { createDeviceJob } from '#fleet/jobs/device-job'
import { getJob } from '#fleet/jobs/read'
import { createJobFleet, issueTestTokens } from '#test/job-fleet'
import { deviceCalls, type JobService, startJobService } from '#test/job-service'
import { until } from '#test/until'

let service: JobService
beforeAll(async () => {
  service = await startJobService()
})
afterAll(() => service.close())

/** A router of its own for a test. */
async function newRouter() {
  const own = await createJobFleet(service.pool, 1)
  const [deviceId = ''] = own.deviceIds
  const [token = ''] = await issueTestTokens(service.pool, own.organizationId, [deviceId])
  return { ...own, deviceId, ...deviceCalls(service.ingest.url, token) }
}

describe('GET /device/jobs/next', () => {
  test('200 at once for a router that waits, within a moment of the job being made', async () => {
    const router = await newRouter()
    const waiting = router.next(50)
    await delay(300)
    const madeMs = performance.now()
    const job = await createDeviceJob(router.ctx, {
      deviceId: router.deviceId,
      kind: 'reboot',
      parameters: { delaySeconds: 5 },
    })
    const answer = await waiting
    // Generous for a busy machine. Without a notice, the router would wait for all of its 50 s.
    expect(performance.now() - madeMs).toBeLessThan(10_000)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id: job.id,
      kind: 'reboot',
      attempt: 1,
      parameters: { delaySeconds: 5 },
      cancelRequested: false,
      expiresAt: job.expiresAt,
    })
  })

  test('200 with the same job and attempt until it is reported, then 204', async () => {
    const router = await newRouter()
    const job = await createDeviceJob(router.ctx, { deviceId: router.deviceId, kind: 'reboot' })
    const first = await router.next(10)
    expect((await router.next()).body).toEqual(first.body)
    expect(await router.report(job.id, { attempt: 1, status: 'inProgress', progress: 10 })).toMatchObject({
      status: 200,
      body: { status: 'inProgress', cancelRequested: false },
    })
    expect((await router.next()).status).toBe(204)
  })

  test('204 after waiting in vain, and at once without waitSeconds', async () => {
    const router = await newRouter()
    const startMs = performance.now()
    expect((await router.next(1)).status).toBe(204)
    expect(performance.now() - startMs).toBeGreaterThan(950)
    expect((await router.next()).status).toBe(204)
  })

  test.each([
    ['waitSeconds=56', 'waitSeconds: Must be at most 55.'],
    ['waitSeconds=', 'waitSeconds: Must be a number.'],
    ['waitSeconds=0x5', 'waitSeconds: Must be a number.'],
    ['waitSeconds=0&waitSeconds=1', 'waitSeconds: Must be a number.'],
    ['wait=3', 'wait: Unknown field or parameter.'],
  ])('400 for ?%s, with the parameter', async (query, detail) => {
    const router = await newRouter()
    expect(await router.call('GET', `/device/jobs/next?${query}`)).toMatchObject({ status: 400, body: { detail } })
  })

  test('401 without a device token', async () => {
    expect((await deviceCalls(service.ingest.url, 'nonsense').next()).status).toBe(401)
  })

  test('403 for a disabled device', async () => {
    const router = await newRouter()
    await service.pool.query(`UPDATE device SET status = 'disabled' WHERE id = $1`, [router.deviceId])
    expect(await router.next()).toMatchObject({ status: 403, body: { code: 'device_disabled' } })
  })

  test.each([
    ['401 when its token is revoked', 'DELETE FROM device_token WHERE device_id = $1', 401],
    ['403 when it is disabled', `UPDATE device SET status = 'disabled' WHERE id = $1`, 403],
  ])('a router that waits is sent away with %s, and gets nothing that comes later', async (_what, change, status) => {
    const router = await newRouter()
    const waiting = router.next(20)
    await delay(300)
    await service.pool.query(change, [router.deviceId])
    expect((await waiting).status).toBe(status)
    await service.pool.query(`UPDATE device SET status = 'offline' WHERE id = $1`, [router.deviceId])
    const job = await createDeviceJob(router.ctx, { deviceId: router.deviceId, kind: 'reboot' })
    const [token = ''] = await issueTestTokens(service.pool, router.organizationId, [router.deviceId])
    expect((await deviceCalls(service.ingest.url, token).next(10)).body).toMatchObject({ id: job.id, attempt: 1 })
  })

  test('a router that hung up while waiting leaves its job for the next time', async () => {
    const router = await newRouter()
    const [token = ''] = await issueTestTokens(service.pool, router.organizationId, [router.deviceId])
    const hangUp = new AbortController()
    const gone = fetch(`${service.ingest.url}/device/jobs/next?waitSeconds=30`, {
      headers: { authorization: `Bearer ${token}` },
      signal: hangUp.signal,
    }).catch(() => undefined)
    await delay(200)
    hangUp.abort()
    await gone
    const job = await createDeviceJob(router.ctx, { deviceId: router.deviceId, kind: 'reboot' })
    expect((await router.next(10)).body).toMatchObject({ id: job.id, attempt: 1 })
  })
})

describe('POST /device/jobs/:id/status', () => {
  test('200 for the final report and for its repetition, 409 for another one after it', async () => {
    const router = await newRouter()
    const job = await createDeviceJob(router.ctx, { deviceId: router.deviceId, kind: 'speed_test' })
    await router.next(10)
    const done = { attempt: 1, status: 'succeeded', detail: { downloadMbps: 87.2 } }
    expect(await router.report(job.id, done)).toMatchObject({ status: 200, body: { status: 'succeeded' } })
    expect(await router.report(job.id, done)).toMatchObject({ status: 200, body: { status: 'succeeded' } })
    expect(await router.report(job.id, { attempt: 1, status: 'failed' })).toMatchObject({
      status: 409,
      body: { code: 'job_final' },
    })
  })

  test('200 for a detail with characters that cannot be stored; the end and the remaining text are stored', async () => {
    const router = await newRouter()
    const job = await createDeviceJob(router.ctx, { deviceId: router.deviceId, kind: 'collect_diagnostics' })
    await router.next(10)
    const done = { attempt: 1, status: 'succeeded', detail: { log: 'boot\0ok', 'key\ud800': '\ud800' } }
    expect((await router.report(job.id, done)).status).toBe(200)
    expect((await router.report(job.id, done)).status).toBe(200)
    const { result } = await getJob(router.ctx, { organizationId: router.organizationId, jobId: job.id })
    expect(result).toEqual({ log: 'boot\ufffdok', 'key\ufffd': '\ufffd' })
  })

  test('409 for another attempt than the present one, and for a job that was not taken', async () => {
    const router = await newRouter()
    const job = await createDeviceJob(router.ctx, { deviceId: router.deviceId, kind: 'speed_test' })
    expect((await router.report(job.id, { attempt: 1, status: 'succeeded' })).body.code).toBe('job_not_taken')
    await router.next(10)
    expect(await router.report(job.id, { attempt: 2, status: 'succeeded' })).toMatchObject({
      status: 409,
      body: { code: 'stale_attempt', attempt: 1 },
    })
  })

  test('404 for a job of another device, an unknown one and a malformed id', async () => {
    const router = await newRouter()
    const other = await newRouter()
    const job = await createDeviceJob(other.ctx, { deviceId: other.deviceId, kind: 'reboot' })
    for (const id of [job.id, newId(), 'nonsense']) {
      expect((await router.report(id, { attempt: 1, status: 'succeeded' })).status).toBe(404)
    }
  })

  test('400 for an invalid body, 415 for another media type', async () => {
    const router = await newRouter()
    const answer = await router.report(newId(), { attempt: 0, status: 'done', note: 'x' })
    expect(answer.status).toBe(400)
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual(
      expect.arrayContaining(['/attempt', '/status']),
    )
    const text = await router.call('POST', `/device/jobs/${newId()}/status`, {}, { 'content-type': 'text/plain' })
    expect(text.status).toBe(415)
  })
})

describe('the hint in the answer to a report', () => {
  test('jobsPending counts the jobs that wait for the router', async () => {
    const router = await newRouter()
    const report = () => router.call('POST', '/telemetry', { samples: [{ kind: 'system', ts: Date.now(), cpuPct: 1 }] })
    expect((await report()).body.jobsPending).toBe(0)
    await createDeviceJob(router.ctx, { deviceId: router.deviceId, kind: 'reboot' })
    await until('the hint', async () => (await report()).body.jobsPending === 1)
  })
})

test('routers that wait are sent away when the edge stops, and it ends in good order', async () => {
  const own = await startJobService()
  const single = await createJobFleet(own.pool, 1)
  const [token = ''] = await issueTestTokens(own.pool, single.organizationId, single.deviceIds)
  const waiting = deviceCalls(own.ingest.url, token).next(50)
  await delay(300)
  const startMs = performance.now()
  const ended = own.ingest.end('SIGTERM')
  expect((await waiting).status).toBe(204)
  expect(await ended).toBe(0)
  // The router asked to wait for 50 s.
  expect(performance.now() - startMs).toBeLessThan(40_000)
  await own.close()
})
