import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '#core/clock'
import { reportJob, takeJobs } from '#fleet/jobs/delivery'
import { dispatchJobs } from '#fleet/jobs/dispatch'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

/** An organization with one group of `count` routers. */
async function newGroup(count: number, plan = 'enterprise') {
  const { id, key } = await api.newOrganization({ plan })
  const call = (method: string, path: string, json?: unknown, headers = {}) =>
    api.call(method, path, { token: key, headers, ...(json === undefined ? {} : { json }) })
  const deviceIds = await seedDevices(api.services.pool, id, count)
  const group = (await call('POST', `/orgs/${id}/groups`, { name: 'All' })).body
  if (count > 0) await call('POST', `/orgs/${id}/groups/${group.id}/members`, { deviceIds })
  const groupJobs = `/orgs/${id}/groups/${group.id}/jobs`
  return { id, key, call, deviceIds, deviceId: deviceIds[0] ?? '', group, groupJobs }
}

/** What the worker and the device do, up to this status. */
async function bringTo(status: 'dispatched' | 'inProgress' | 'succeeded' | 'failed', job: Record<string, string>) {
  const system = { pool: api.services.pool, clock: systemClock }
  const { id: jobId = '', deviceId = '', organizationId = '' } = job
  const attempt = Number(job.attempt)
  await dispatchJobs(system, [{ jobId, attempt }])
  if (status === 'dispatched') return
  await takeJobs(system, [{ deviceId, organizationId }])
  if (status === 'inProgress') return
  const device = { deviceId, organizationId }
  await reportJob(system, { device, jobId, report: { attempt, status, detail: 'As it said.' } })
}

describe('POST /orgs/:orgId/groups/:id/jobs', () => {
  test('202 with a batch with one job for each member, and a Location', async () => {
    const { id, group, groupJobs, call, deviceIds } = await newGroup(3)
    const answer = await call('POST', groupJobs, { kind: 'reboot' })
    expect(answer.status).toBe(202)
    expect(answer.headers.get('location')).toBe(`/orgs/${id}/job-batches/${answer.body.id}`)
    expect(answer.body).toMatchObject({
      kind: 'reboot',
      status: 'running',
      target: { groupId: group.id },
      profile: null,
      total: 3,
      counts: { queued: 3, dispatched: 0, succeeded: 0 },
      skipped: [],
      jobsUrl: `/orgs/${id}/jobs?batchId=${answer.body.id}`,
      finishedAt: null,
    })
    expect(answer.body.jobs.map((job: { deviceId: string }) => job.deviceId).sort()).toEqual([...deviceIds].sort())
    const listed = await call('GET', answer.body.jobsUrl)
    expect(listed.body.items).toHaveLength(3)
  })

  test('202 for an empty group, with a finished batch', async () => {
    const { groupJobs, call } = await newGroup(0)
    const { status, body } = await call('POST', groupJobs, { kind: 'reboot' })
    expect(status).toBe(202)
    expect(body).toMatchObject({ status: 'finished', total: 0, jobs: [], finishedAt: expect.any(String) })
  })

  test('202 with the same response for the same Idempotency-Key', async () => {
    const { id, groupJobs, call } = await newGroup(1)
    const headers = { 'idempotency-key': randomUUID() }
    const first = await call('POST', groupJobs, { kind: 'reboot' }, headers)
    const second = await call('POST', groupJobs, { kind: 'reboot' }, headers)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(second.body).toEqual(first.body)
    expect((await call('GET', `/orgs/${id}/jobs`)).body.items).toHaveLength(1)
  })

  test('202 with the status scheduled for a batch that starts later', async () => {
    const { groupJobs, call } = await newGroup(2)
    const [startAt = '', end = ''] = [4, 6].map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString())
    const window = { from: startAt.slice(11, 16), to: end.slice(11, 16), timeZone: 'UTC' }
    for (const schedule of [{ startAt }, { window }]) {
      const { body } = await call('POST', groupJobs, { kind: 'reboot', schedule })
      expect(body.status).toBe('scheduled')
      const { body: job } = await call('GET', `${body.jobsUrl.split('?')[0]}/${body.jobs[0].id}`)
      const opensMs = Date.parse(schedule.window ? `${startAt.slice(0, 16)}Z` : startAt)
      expect(Date.parse(job.expiresAt) - opensMs).toBe(3_600_000)
    }
  })

  test('202 with the start of the schedule in UTC, whatever offset it was sent with', async () => {
    const { groupJobs, call } = await newGroup(1)
    const schedule = { startAt: '2099-12-01T00:00:00+01:00' }
    const sent = { kind: 'reboot', schedule, expiresInSeconds: 60 }
    const expected = { body: { schedule: { startAt: '2099-11-30T23:00:00.000Z' } } }
    expect(await call('POST', `${groupJobs}?dryRun=true`, sent)).toMatchObject({ status: 200, ...expected })
    expect(await call('POST', groupJobs, sent)).toMatchObject({ status: 202, ...expected })
  })

  test('400 for an unknown kind, and for apply_config with the correct route', async () => {
    const { groupJobs, call } = await newGroup(1)
    const unknown = await call('POST', groupJobs, { kind: 'self_destruct' })
    expect(unknown).toMatchObject({ status: 400, body: { errors: [{ pointer: '/kind' }] } })
    const config = await call('POST', groupJobs, { kind: 'apply_config' })
    expect(config.status).toBe(400)
    expect(config.body.detail).toContain('/apply')
    expect((await call('POST', groupJobs, {})).status).toBe(400)
  })

  test('400 for firmware from a forbidden address or without a checksum', async () => {
    const { groupJobs, call } = await newGroup(1)
    const firmware = { version: '7.2', url: 'https://downloads.example.com/fw.bin', sha256: 'a'.repeat(64) }
    const ask = (change: object) =>
      call('POST', groupJobs, { kind: 'firmware_update', parameters: { ...firmware, ...change } })
    for (const url of [
      'http://downloads.example.com/fw',
      'https://10.0.0.7/fw',
      'https://localhost/fw',
      'https://u:p@example.com/fw',
      'nonsense',
    ]) {
      expect(await ask({ url })).toMatchObject({ status: 400, body: { errors: [{ pointer: '/parameters/url' }] } })
    }
    expect((await ask({ sha256: 'abc' })).status).toBe(400)
    expect((await ask({ version: '7\0' })).status).toBe(400)
    expect((await call('POST', groupJobs, { kind: 'firmware_update' })).status).toBe(400)
    expect((await ask({})).status).toBe(202)
  })

  test('400 for parameters over 4 KiB, without checking their content', async () => {
    const { groupJobs, call } = await newGroup(1)
    const huge = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`${index}`, `${'1'.repeat(20)}\0`]))
    const answer = await call('POST', groupJobs, { kind: 'reboot', parameters: { wifiPassword: 'x', list: [huge] } })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(answer.body.errors).toEqual([
      { pointer: '/parameters', code: 'custom', detail: 'Parameters must not exceed 4096 bytes as JSON.' },
    ])
  })

  test('400 for parameters with a secret or text that cannot be stored, an unknown field, and invalid limits', async () => {
    const { groupJobs, call } = await newGroup(1)
    for (const json of [
      { kind: 'reboot', parameters: { wifiPassword: 'hunter2' } },
      { kind: 'reboot', parameters: { note: 'a\0' } },
      { kind: 'reboot', parameters: { list: [{ 'a\ud800': 1 }] } },
      { kind: 'reboot', parameters: [] },
      { kind: 'reboot', parameters: { '': 1 } },
      { kind: 'reboot', parameters: { ['k'.repeat(65)]: 1 } },
      { kind: 'reboot', colour: 'red' },
      { kind: 'reboot', expiresInSeconds: 0 },
      { kind: 'reboot', expiresInSeconds: 2_592_001 },
      { kind: 'reboot', schedule: {} },
      { kind: 'reboot', schedule: { startAt: 'tomorrow' } },
      { kind: 'reboot', schedule: { startAt: '9999-12-31T23:30:00Z' } },
      { kind: 'reboot', schedule: { window: { from: '02:00', to: '04:00', timeZone: 'Mars/Olympus' } } },
      { kind: 'reboot', rollout: { maxPerMinute: 0 } },
      { kind: 'reboot', rollout: { abortWhenFailedPct: 101 } },
    ]) {
      expect(await call('POST', groupJobs, json), JSON.stringify(json)).toMatchObject({ status: 400 })
    }
  })

  test('402 under a suspended subscription', async () => {
    const { id, groupJobs, call } = await newGroup(1)
    await api.call('PUT', `/orgs/${id}/subscription`, {
      token: api.platformKey,
      json: { plan: 'enterprise', status: 'suspended' },
    })
    expect((await call('POST', groupJobs, { kind: 'reboot' })).status).toBe(402)
  })

  test('403 without job:create, 404 for a group of another organization', async () => {
    const { id, groupJobs } = await newGroup(1)
    const viewer = await api.newKey([id], 'viewer')
    expect((await api.call('POST', groupJobs, { token: viewer, json: { kind: 'reboot' } })).status).toBe(403)
    const other = await newGroup(0)
    const foreign = `/orgs/${other.id}/groups/${groupJobs.split('/')[4]}/jobs`
    expect((await other.call('POST', foreign, { kind: 'reboot' })).status).toBe(404)
    expect((await other.call('POST', groupJobs, { kind: 'reboot' })).status).toBe(404)
  })
})

describe('POST /devices/:id/jobs', () => {
  test('202 with the job, whose download URL has no query', async () => {
    const { id, deviceId, call } = await newGroup(1)
    const url = 'https://downloads.example.com/fw.bin?signature=s3cr3t'
    const parameters = { version: '7.2', url, sha256: 'A'.repeat(64), sizeBytes: 1_000 }
    const answer = await call('POST', `/devices/${deviceId}/jobs`, { kind: 'firmware_update', parameters })
    expect(answer.status).toBe(202)
    expect(answer.headers.get('location')).toBe(`/orgs/${id}/jobs/${answer.body.id}`)
    expect(answer.body).toMatchObject({
      batchId: null,
      organizationId: id,
      deviceId,
      kind: 'firmware_update',
      status: 'queued',
      attempt: 1,
      maxAttempts: 3,
      parameters: { version: '7.2', sha256: 'a'.repeat(64), sizeBytes: 1_000 },
    })
    expect(answer.body).not.toHaveProperty('history')
    expect(JSON.stringify(answer.body)).not.toContain('s3cr3t')
    const taken = await (async () => {
      await bringTo('dispatched', answer.body)
      return takeJobs({ pool: api.services.pool, clock: systemClock }, [{ deviceId, organizationId: id }])
    })()
    expect(taken.get(deviceId)?.parameters.url).toBe(url)
  })

  test('202 with the requested expiry, or one hour for a reboot', async () => {
    const { deviceId, call } = await newGroup(1)
    const lifetimeS = async (json: object) => {
      const { body } = await call('POST', `/devices/${deviceId}/jobs`, { kind: 'reboot', ...json })
      return Math.round((Date.parse(body.expiresAt) - Date.parse(body.createdAt)) / 1_000)
    }
    expect(await lifetimeS({})).toBe(3_600)
    expect(await lifetimeS({ expiresInSeconds: 90 })).toBe(90)
  })

  test('400 for schedule and rollout', async () => {
    const { deviceId, call } = await newGroup(1)
    expect((await call('POST', `/devices/${deviceId}/jobs`, { kind: 'reboot', rollout: {} })).status).toBe(400)
  })

  test('404 for another organization’s device, 409 for a disabled one', async () => {
    const { deviceId, call } = await newGroup(1)
    const other = await newGroup(0)
    expect((await other.call('POST', `/devices/${deviceId}/jobs`, { kind: 'reboot' })).status).toBe(404)
    await call('PATCH', `/devices/${deviceId}`, { status: 'disabled' })
    expect(await call('POST', `/devices/${deviceId}/jobs`, { kind: 'reboot' })).toMatchObject({
      status: 409,
      body: { code: 'device_disabled' },
    })
  })
})

describe('GET /orgs/:orgId/jobs', () => {
  test('200 filtered by status, kind, device, group and batch', async () => {
    const { id, group, groupJobs, deviceIds, call } = await newGroup(3)
    const batch = (await call('POST', groupJobs, { kind: 'reboot' })).body
    const single = (await call('POST', `/devices/${deviceIds[0]}/jobs`, { kind: 'speed_test' })).body
    const ids = async (query: string) => {
      const { status, body } = await call('GET', `/orgs/${id}/jobs?${query}`)
      expect(status).toBe(200)
      return body.items.map((job: { id: string }) => job.id)
    }
    expect(await ids('')).toHaveLength(4)
    expect((await ids(''))[0]).toBe(single.id)
    expect(await ids(`batchId=${batch.id}`)).toHaveLength(3)
    expect(await ids(`groupId=${group.id}`)).toHaveLength(3)
    expect(await ids('kind=speed_test')).toEqual([single.id])
    expect(await ids(`deviceId=${deviceIds[0]}`)).toHaveLength(2)
    expect(await ids('status=succeeded')).toEqual([])
    expect(await ids(`batchId=${randomUUID()}`)).toEqual([])
    expect(await ids(`deviceId=${randomUUID()}`)).toEqual([])
  })

  test('200 returns every job once over all pages', async () => {
    const { id, groupJobs, call } = await newGroup(5)
    await call('POST', groupJobs, { kind: 'reboot' })
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await call('GET', `/orgs/${id}/jobs?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      seen.push(...body.items.map((job: { id: string }) => job.id))
      cursor = body.nextCursor ?? ''
    } while (cursor !== '')
    expect(new Set(seen).size).toBe(5)
    expect(seen).toEqual([...seen].sort().reverse())
  })

  test('400 for an unknown status, 404 for a group of another organization', async () => {
    const { id, call } = await newGroup(0)
    const other = await newGroup(0)
    expect((await call('GET', `/orgs/${id}/jobs?status=sleeping`)).status).toBe(400)
    expect((await call('GET', `/orgs/${id}/jobs?groupId=${other.group.id}`)).status).toBe(404)
  })
})

describe('GET /devices/:id/jobs', () => {
  test('200 newest first; 403 without job:read; 404 for another organization', async () => {
    const { id, deviceId, call } = await newGroup(1)
    const first = (await call('POST', `/devices/${deviceId}/jobs`, { kind: 'reboot' })).body
    const second = (await call('POST', `/devices/${deviceId}/jobs`, { kind: 'speed_test' })).body
    const listed = await call('GET', `/devices/${deviceId}/jobs`)
    expect(listed.body.items.map((job: { id: string }) => job.id)).toEqual([second.id, first.id])
    const blind = await api.newKey([id], ['device:read'])
    expect((await api.call('GET', `/devices/${deviceId}/jobs`, { token: blind })).status).toBe(403)
    const other = await newGroup(0)
    expect((await other.call('GET', `/devices/${deviceId}/jobs`)).status).toBe(404)
  })
})

describe('one job', () => {
  test('GET 200 with its history, oldest first; 404 for an unknown job and for another organization', async () => {
    const { id, deviceId, call } = await newGroup(1)
    const { body: job } = await call('POST', `/devices/${deviceId}/jobs`, { kind: 'speed_test' })
    await bringTo('succeeded', job)
    const { body } = await call('GET', `/orgs/${id}/jobs/${job.id}`)
    expect(body).toMatchObject({ status: 'succeeded', progress: 100, result: 'As it said.', error: null })
    expect(body.history.map(({ status }: { status: string }) => status)).toEqual([
      'queued',
      'dispatched',
      'inProgress',
      'succeeded',
    ])
    expect(body.history[0]).toEqual({ status: 'queued', at: job.createdAt, by: expect.stringMatching(/^key:/) })
    expect(body.history.at(-1).by).toBe(`device:${deviceId}`)
    expect((await call('GET', `/orgs/${id}/jobs/${randomUUID()}`)).status).toBe(404)
    const other = await newGroup(0)
    expect((await other.call('GET', `/orgs/${other.id}/jobs/${job.id}`)).status).toBe(404)
  })

  test('POST cancel 200 cancels a job that was not taken, requests it for one that was, and 409 for one that has ended', async () => {
    const { id, deviceId, call } = await newGroup(1)
    const newJob = async () => (await call('POST', `/devices/${deviceId}/jobs`, { kind: 'speed_test' })).body
    const cancel = (job: { id: string }) => call('POST', `/orgs/${id}/jobs/${job.id}/cancel`)
    const queued = await newJob()
    const cancelled = await cancel(queued)
    expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled' } })
    expect(cancelled.body).not.toHaveProperty('history')
    expect(await cancel(queued)).toMatchObject({ status: 409, body: { code: 'job_final' } })
    const taken = await newJob()
    await bringTo('inProgress', taken)
    expect(await cancel(taken)).toMatchObject({ status: 200, body: { status: 'inProgress', cancelRequested: true } })
    expect((await cancel(taken)).status).toBe(200)
  })

  test('POST retry 202 creates the next attempt of a failed job, 409 for one that runs or succeeded', async () => {
    const { id, deviceId, call } = await newGroup(1)
    const { body: job } = await call('POST', `/devices/${deviceId}/jobs`, { kind: 'reboot' })
    const retry = () => call('POST', `/orgs/${id}/jobs/${job.id}/retry`)
    expect(await retry()).toMatchObject({ status: 409, body: { code: 'job_not_retryable' } })
    await bringTo('failed', job)
    const { body: failed } = await call('GET', `/orgs/${id}/jobs/${job.id}`)
    expect(failed.error).toEqual({ code: 'failed', detail: 'As it said.' })
    const again = await retry()
    expect(again).toMatchObject({ status: 202, body: { id: job.id, status: 'queued', attempt: 2, error: null } })
    expect(again.body).not.toHaveProperty('history')
    await bringTo('succeeded', again.body)
    expect((await retry()).status).toBe(409)
  })

  test('disabling a device rejects its queued jobs; deleting it cancels them', async () => {
    const { id, deviceIds, call } = await newGroup(2)
    const [disabled = '', deleted = ''] = deviceIds
    const jobs = await Promise.all(
      [disabled, deleted].map(
        async (device) => (await call('POST', `/devices/${device}/jobs`, { kind: 'reboot' })).body,
      ),
    )
    await call('PATCH', `/devices/${disabled}`, { status: 'disabled' })
    expect((await call('GET', `/orgs/${id}/jobs/${jobs[0].id}`)).body).toMatchObject({
      status: 'rejected',
      error: { code: 'device_disabled' },
    })
    expect((await call('DELETE', `/devices/${deleted}`)).status).toBe(204)
    expect((await call('GET', `/orgs/${id}/jobs/${jobs[1].id}`)).body).toMatchObject({
      status: 'cancelled',
      deviceId: deleted,
    })
  })
})

describe('batches', () => {
  const batchOf = async (count: number) => {
    const group = await newGroup(count)
    const { body: batch } = await group.call('POST', group.groupJobs, { kind: 'speed_test' })
    const one = `/orgs/${group.id}/job-batches/${batch.id}`
    const jobAt = async (index: number) =>
      (await group.call('GET', `/orgs/${group.id}/jobs/${batch.jobs[index].id}`)).body
    return { ...group, batch, one, jobAt }
  }

  test('GET /orgs/:orgId/job-batches 200 lists them newest first, without their jobs', async () => {
    const { id, groupJobs, batch, call } = await batchOf(1)
    const second = (await call('POST', groupJobs, { kind: 'reboot' })).body
    const { body } = await call('GET', `/orgs/${id}/job-batches`)
    expect(body.items.map((item: { id: string }) => item.id)).toEqual([second.id, batch.id])
    expect(body.items[0]).not.toHaveProperty('jobs')
  })

  test('GET /orgs/:orgId/job-batches/:id 200 counts every status; 404 for another organization', async () => {
    const { batch, one, jobAt, call } = await batchOf(3)
    await bringTo('succeeded', await jobAt(0))
    await bringTo('inProgress', await jobAt(1))
    expect((await call('GET', one)).body).toMatchObject({
      status: 'running',
      counts: { succeeded: 1, inProgress: 1, queued: 1 },
    })
    const other = await newGroup(0)
    expect((await other.call('GET', `/orgs/${other.id}/job-batches/${batch.id}`)).status).toBe(404)
  })

  test('POST pause and resume 200, 409 for a batch that has ended', async () => {
    const { one, jobAt, call } = await batchOf(1)
    expect(await call('POST', `${one}/pause`)).toMatchObject({ status: 200, body: { status: 'paused' } })
    expect(await call('POST', `${one}/pause`)).toMatchObject({ status: 200, body: { status: 'paused' } })
    expect(await call('POST', `${one}/resume`)).toMatchObject({ status: 200, body: { status: 'running' } })
    await bringTo('succeeded', await jobAt(0))
    for (const verb of ['pause', 'resume', 'cancel']) {
      expect(await call('POST', `${one}/${verb}`)).toMatchObject({ status: 409, body: { code: 'batch_final' } })
    }
  })

  test('POST cancel 200 cancels the open jobs', async () => {
    const { one, jobAt, call } = await batchOf(3)
    await bringTo('succeeded', await jobAt(0))
    const { status, body } = await call('POST', `${one}/cancel`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 'cancelled', counts: { succeeded: 1, cancelled: 2 } })
    expect(body.finishedAt).not.toBeNull()
  })

  test('POST retry 202 queues the jobs without success, 409 if all succeeded', async () => {
    const { one, jobAt, call } = await batchOf(2)
    await bringTo('succeeded', await jobAt(0))
    await bringTo('failed', await jobAt(1))
    expect((await call('GET', one)).body.status).toBe('finished')
    const retried = await call('POST', `${one}/retry`)
    expect(retried).toMatchObject({
      status: 202,
      body: { status: 'running', finishedAt: null, counts: { succeeded: 1, queued: 1 } },
    })
    await bringTo('succeeded', await jobAt(1))
    expect(await call('POST', `${one}/retry`)).toMatchObject({ status: 409, body: { code: 'nothing_to_retry' } })
  })
})
