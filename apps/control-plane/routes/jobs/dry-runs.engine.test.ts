import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

/** An organization with a group of five routers, of which one is disabled and one has another model, and a profile for the model. */
async function newFleet() {
  const { id, key } = await api.newOrganization({ plan: 'enterprise' })
  const call = (method: string, path: string, json?: unknown, headers = {}) =>
    api.call(method, path, { token: key, headers, ...(json === undefined ? {} : { json }) })
  const seed = (count: number, options = {}) => seedDevices(api.services.pool, id, count, { tags: ['bus'], ...options })
  const fitting = await seed(3)
  const [disabled = ''] = await seed(1)
  const [other = ''] = await seed(1, { model: 'RX900' })
  await call('PATCH', `/devices/${disabled}`, { status: 'disabled' })
  const group = (await call('POST', `/orgs/${id}/groups`, { name: 'Buses', smartTags: ['bus'] })).body
  const { model } = (await call('GET', `/devices/${fitting[0]}`)).body
  const json = { name: 'Depot', model, settings: { wifi: { password: 'correct horse' } } }
  const profile = (await call('POST', `/orgs/${id}/configs`, json)).body
  return { id, call, group, profile, disabled, other, deviceIds: [...fitting, disabled, other] }
}

type Fleet = Awaited<ReturnType<typeof newFleet>>

const ways: [name: string, path: (fleet: Fleet) => string, body: (fleet: Fleet) => object][] = [
  ['group jobs', ({ id, group }) => `/orgs/${id}/groups/${group.id}/jobs`, () => ({ kind: 'reboot' })],
  ['job batches', ({ id }) => `/orgs/${id}/job-batches`, ({ deviceIds }) => ({ kind: 'reboot', deviceIds })],
  [
    'an application',
    ({ id, profile }) => `/orgs/${id}/configs/${profile.id}/apply`,
    ({ group }) => ({ groupId: group.id }),
  ],
]

/** What the organization has: batches, jobs and rows of the audit log. */
async function traces({ id }: Fleet) {
  const { rows } = await api.services.pool.query(
    `SELECT (SELECT count(*)::int FROM job_batch WHERE organization_id = $1) AS batches,
       (SELECT count(*)::int FROM job WHERE organization_id = $1) AS jobs,
       (SELECT count(*)::int FROM audit_entry WHERE organization_id = $1) AS audit,
       (SELECT count(*)::int FROM outbox_event WHERE organization_id = $1) AS events`,
    [id],
  )
  return rows[0]
}

describe.each(ways)('a dry run of %s', (_name, path, body) => {
  test('200 with what the request would create, which creates nothing', async () => {
    const fleet = await newFleet()
    const options = { rollout: { canary: 1 }, delivery: { when: 'goodSignal' } }
    const request = { ...body(fleet), ...options }
    const before = await traces(fleet)
    const planned = await fleet.call('POST', `${path(fleet)}?dryRun=true`, request)
    expect(planned.status).toBe(200)
    expect(planned.headers.get('location')).toBeNull()
    expect(await traces(fleet)).toEqual(before)
    const created = await fleet.call('POST', path(fleet), request)
    expect(created.status).toBe(202)
    const { kind, target, targetName, profile, parameters, schedule, rollout, delivery, total, skipped } = created.body
    // Of the application of a profile only; its own tests say what they are.
    const { devices: _devices, nextCursor: _nextCursor, ...plan } = planned.body
    expect(plan).toEqual({
      ...{ dryRun: true, kind, target, targetName, profile, parameters, schedule, rollout, delivery, total, skipped },
      skippedReasons: Object.fromEntries(
        skipped.map(({ reason }: { reason: string }) => [
          reason,
          skipped.filter((one: { reason: string }) => one.reason === reason).length,
        ]),
      ),
      stages: created.body.stages.map(({ devices }: { devices: number }) => ({
        devices,
        earliestAt: expect.any(String),
      })),
    })
    expect(planned.body.skippedReasons.device_disabled).toBe(1)
    expect(JSON.stringify(planned.body)).not.toContain('correct horse')
  })

  test('the Idempotency-Key stays free for the request itself', async () => {
    const fleet = await newFleet()
    const headers = { 'idempotency-key': randomUUID() }
    const planned = await fleet.call('POST', `${path(fleet)}?dryRun=true`, body(fleet), headers)
    const created = await fleet.call('POST', path(fleet), body(fleet), headers)
    expect([planned.status, created.status]).toEqual([200, 202])
    expect(created.headers.get('idempotency-replayed')).toBeNull()
  })

  test('the same refusals as the request: 400, 401, 403 and 404', async () => {
    const fleet = await newFleet()
    const other = await api.newOrganization()
    const { body: viewer } = await fleet.call('POST', `/orgs/${fleet.id}/api-keys`, { name: 'v', role: 'viewer' })
    const status = async (query: string, token: string | undefined, json: object) =>
      (await api.call('POST', `${path(fleet)}?${query}`, { ...(token && { token }), json })).status
    expect(await status('dryRun=yes', viewer.key, body(fleet))).toBe(400)
    expect(await status('dryrun=true', viewer.key, body(fleet))).toBe(400)
    expect(await status('dryRun=true', undefined, body(fleet))).toBe(401)
    expect(await status('dryRun=true', viewer.key, body(fleet))).toBe(403)
    expect(await status('dryRun=true', other.key, body(fleet))).toBe(404)
    const late = { delivery: { when: 'dwell', latestAt: '2020-01-01T00:00:00Z' } }
    expect((await fleet.call('POST', `${path(fleet)}?dryRun=true`, { ...body(fleet), ...late })).status).toBe(400)
  })
})

test('a dry run says when each stage starts at the earliest', async () => {
  const fleet = await newFleet()
  const startAt = new Date(Date.now() + 3_600_000).toISOString()
  const rollout = { stages: [{ devices: 3 }], maxPerMinute: 1, stageWaitMinutes: 10 }
  const { body } = await fleet.call('POST', `/orgs/${fleet.id}/groups/${fleet.group.id}/jobs?dryRun=true`, {
    ...{ kind: 'reboot', schedule: { startAt }, rollout },
  })
  const laterBy = (minutes: number) => new Date(Date.parse(startAt) + minutes * 60_000).toISOString()
  expect(body.stages).toEqual([
    { devices: 3, earliestAt: laterBy(0) },
    // The third device of the first stage follows after two minutes.
    { devices: 1, earliestAt: laterBy(12) },
  ])
})

test('a dry run for no device has no stage', async () => {
  const fleet = await newFleet()
  const { body } = await fleet.call('POST', `/orgs/${fleet.id}/job-batches?dryRun=true`, {
    ...{ kind: 'reboot', deviceIds: [fleet.disabled] },
  })
  expect(body).toMatchObject({ total: 0, stages: [], skippedReasons: { device_disabled: 1 } })
})
