import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

// The device endpoints through the base address of the control plane.

let service: WholeService
let organizationId: string
beforeAll(async () => {
  service = await startWholeService()
}, 120_000)
afterAll(() => service.close())
beforeEach(async () => {
  organizationId = (await admin('POST', '/orgs', { name: 'Buses', plan: 'pro' })).body.id
})

type Extra = { token?: string; headers?: Record<string, string> }

async function call(method: string, path: string, body?: unknown, { token, headers = {} }: Extra = {}) {
  const answer = await fetch(service.url + path, {
    method,
    headers: {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text), headers: answer.headers }
}

const admin = (method: string, path: string, body?: unknown) => call(method, path, body, { token: service.adminKey })

const newKey = async (settings: object): Promise<string> =>
  (await admin('POST', `/orgs/${organizationId}/enrollment-keys`, { name: 'Depot', ...settings })).body.key

const newDevice = async (serial: string): Promise<string> =>
  (await admin('POST', '/devices', { organizationId, serial, name: serial, model: 'RX400' })).body.id

const enroll = (enrollmentKey: string, serial: string, model = 'RX400', nonce?: string) =>
  call('POST', '/device/enroll', { enrollmentKey, serial, model, nonce })

const subscribe = (settings: object) => admin('PUT', `/orgs/${organizationId}/subscription`, settings)

describe('POST /device/enroll', () => {
  test('201 for a serial registered beforehand, with a token that reports', async () => {
    const deviceId = await newDevice('SN-1')
    const answer = await enroll(await newKey({ autoCreate: false }), 'SN-1')
    expect(answer).toMatchObject({ status: 201, body: { deviceId, token: expect.stringMatching(/^fld_/) } })
    const samples = [{ kind: 'system', cpuPct: 5 }]
    const report = await call('POST', '/telemetry', { samples }, { token: answer.body.token })
    expect(report).toMatchObject({ status: 202, body: { accepted: 1, rejected: [], jobsPending: 0 } })
  })

  test('201 registers an unknown serial if the key permits it', async () => {
    const { body } = await enroll(await newKey({ autoCreate: true }), 'SN-NEW')
    const device = await admin('GET', `/devices/${body.deviceId}`)
    expect(device.body).toMatchObject({ organizationId, serial: 'SN-NEW', model: 'RX400' })
  })

  test('201 finds the registered device by a serial in another case or encoding', async () => {
    const key = await newKey({ autoCreate: true })
    const { body } = await enroll(key, 'K\u00fchl-7')
    const again = await enroll(key, 'KU\u0308HL-7')
    expect(again).toMatchObject({ status: 409, body: { code: 'already_enrolled' } })
    expect((await admin('GET', `/devices/${body.deviceId}`)).body.serial).toBe('K\u00fchl-7')
  })

  test('400 names the missing fields and enrolls no device', async () => {
    const answer = await call('POST', '/device/enroll', { enrollmentKey: await newKey({ autoCreate: true }) })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    const fault = (pointer: string) => ({ pointer, code: 'invalid_type', detail: 'A value is required.' })
    expect(answer.body.errors).toEqual([fault('/serial'), fault('/model')])
    expect(answer.body.detail).toBe('/serial: A value is required.')
  })

  test('402 while the subscription is suspended', async () => {
    const key = await newKey({ autoCreate: true })
    await subscribe({ plan: 'pro', status: 'suspended' })
    expect(await enroll(key, 'SN-1')).toMatchObject({ status: 402, body: { code: 'subscription_inactive' } })
  })

  test('403 for an unknown serial, another model, an exhausted key and a full quota', async () => {
    const known = await newKey({ autoCreate: false })
    expect(await enroll(known, 'SN-X')).toMatchObject({ status: 403, body: { code: 'enrollment_refused' } })
    const oneOfAModel = await newKey({ autoCreate: true, models: ['RX400'], maxDevices: 1 })
    expect(await enroll(oneOfAModel, 'SN-1', 'RX9')).toMatchObject({
      status: 403,
      body: { code: 'enrollment_refused' },
    })
    expect((await enroll(oneOfAModel, 'SN-1')).status).toBe(201)
    expect(await enroll(oneOfAModel, 'SN-2')).toMatchObject({ status: 403, body: { code: 'enrollment_refused' } })
    await subscribe({ plan: 'pro', status: 'active', deviceQuota: 1 })
    const full = await enroll(await newKey({ autoCreate: true }), 'SN-3')
    expect(full).toMatchObject({ status: 403, body: { code: 'device_quota_exceeded', limit: 1, used: 1 } })
  })

  test('409 for a serial that has a token, even if the key is exhausted', async () => {
    const key = await newKey({ autoCreate: true, maxDevices: 1 })
    await enroll(key, 'SN-1')
    expect(await enroll(key, 'SN-1')).toMatchObject({ status: 409, body: { code: 'already_enrolled' } })
  })

  test.each([
    ['registered beforehand', async (serial: string) => void (await newDevice(serial))],
    ['unknown', async () => {}],
  ])(
    '409 for all but one of the enrollments of a serial at the same time, with different keys: %s',
    async (_, prepare) => {
      const keys = await Promise.all([1, 2, 3].map(() => newKey({ autoCreate: true })))
      for (let round = 0; round < 10; round += 1) {
        const serial = `SN-${round}`
        await prepare(serial)
        const answers = await Promise.all(keys.map((key) => enroll(key, serial)))
        const outcomes = answers.map(({ status, body }) => (status === 201 ? 'token' : body.code)).sort()
        expect(outcomes).toEqual(['already_enrolled', 'already_enrolled', 'token'])
      }
      const { rows } = await service.pool.query('SELECT FROM device_token WHERE organization_id = $1', [organizationId])
      expect(rows).toHaveLength(10)
      const { body: usage } = await admin('GET', `/orgs/${organizationId}/usage`)
      expect(usage).toMatchObject({ devices: { used: 10 } })
    },
  )

  describe('repeated with a nonce', () => {
    const nonce = 'n0nce-of-the-router'
    const repeat = (key: string, text: string = nonce) => enroll(key, 'SN-1', 'RX400', text)
    const refused = { status: 409, body: { code: 'already_enrolled' } }
    const reports = async (token: string) =>
      (await call('POST', '/telemetry', { samples: [{ kind: 'system', cpuPct: 5 }] }, { token })).status

    test('201 with the same device and a new token, once for the key, and 409 with another nonce or without', async () => {
      const key = await newKey({ autoCreate: true, maxDevices: 1 })
      const { body: lost } = await repeat(key)
      const again = await repeat(key)
      expect(again).toMatchObject({ status: 201, body: { deviceId: lost.deviceId } })
      expect(again.body.token).not.toBe(lost.token)
      expect(await reports(again.body.token)).toBe(202)
      expect(await repeat(key, 'nonce-of-another-router')).toMatchObject(refused)
      expect(await enroll(key, 'SN-1')).toMatchObject(refused)
      const keys = await admin('GET', `/orgs/${organizationId}/enrollment-keys`)
      expect(keys.body.items[0]).toMatchObject({ enrolledCount: 1 })
      const { rows } = await service.pool.query('SELECT * FROM device_token WHERE organization_id = $1', [
        organizationId,
      ])
      expect(JSON.stringify(rows)).not.toContain(nonce)
    })

    test('400 for a nonce that is too short', async () => {
      const answer = await repeat(await newKey({ autoCreate: true }), 'short')
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/nonce' }] } })
    })

    test('at the same time, all receive one device and valid tokens; of many, the newest stay valid', async () => {
      const keys = await Promise.all([1, 2, 3].map(() => newKey({ autoCreate: true })))
      const answers = await Promise.all(keys.map((key) => repeat(key)))
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
      expect(new Set(answers.map(({ body }) => body.deviceId)).size).toBe(1)
      for (const { body } of answers) expect(await reports(body.token)).toBe(202)
      for (let round = 0; round < 6; round += 1) expect((await repeat(keys[0] ?? '')).status).toBe(201)
      const path = `/devices/${answers[0]?.body.deviceId}/tokens`
      expect((await admin('GET', path)).body.items).toHaveLength(5)
      const { body: usage } = await admin('GET', `/orgs/${organizationId}/usage`)
      expect(usage).toMatchObject({ devices: { used: 1 } })
    })

    test('409 when the first enrollment was more than 24 hours ago, although it was repeated since', async () => {
      const key = await newKey({ autoCreate: true })
      await repeat(key)
      const age = (interval: string) =>
        service.pool.query(
          `UPDATE device_token SET enrolled_at = enrolled_at - $2::interval WHERE organization_id = $1`,
          [organizationId, interval],
        )
      await age('23 hours')
      expect((await repeat(key)).status).toBe(201)
      await age('61 minutes')
      expect(await repeat(key)).toMatchObject(refused)
    })

    test('nothing is given back with a revoked key, a revoked or replaced token, or of a disabled or transferred device', async () => {
      const [revoked, key] = [await newKey({ autoCreate: true }), await newKey({ autoCreate: true })]
      await repeat(revoked)
      const path = `/orgs/${organizationId}/enrollment-keys`
      const { items } = (await admin('GET', path)).body
      const used = items.find(({ enrolledCount }: { enrolledCount: number }) => enrolledCount === 1)
      await admin('DELETE', `${path}/${used.id}`)
      expect((await repeat(revoked)).status).toBe(401)

      const { deviceId } = (await repeat(key)).body
      await admin('PATCH', `/devices/${deviceId}`, { status: 'disabled' })
      expect(await repeat(key)).toMatchObject({ status: 403, body: { code: 'enrollment_refused' } })
      await admin('PATCH', `/devices/${deviceId}`, { status: 'provisioning' })
      expect((await repeat(key)).body).toMatchObject({ deviceId })

      for (const revoke of [false, true]) {
        await admin('POST', `/devices/${deviceId}/token`, { revoke })
        expect(await repeat(key)).toMatchObject(refused)
      }

      const { body: target } = await admin('POST', '/orgs', { name: 'Trams', plan: 'pro' })
      await admin('POST', `/devices/${deviceId}/transfer`, { toOrgId: target.id })
      const fresh = await repeat(key)
      expect(fresh.status).toBe(201)
      expect(fresh.body.deviceId).not.toBe(deviceId)
      await admin('DELETE', `/devices/${fresh.body.deviceId}`)
      const registered = await repeat(key)
      expect(registered.status).toBe(201)
      expect(registered.body.deviceId).not.toBe(fresh.body.deviceId)
    })
  })

  test('415 for another media type', async () => {
    const answer = await call('POST', '/device/enroll', {}, { headers: { 'content-type': 'text/plain' } })
    expect(answer.status).toBe(415)
  })
})

describe('GET /device/config', () => {
  const newRouter = async () => {
    const { body } = await enroll(await newKey({ autoCreate: true }), 'SN-1')
    return { id: body.deviceId as string, token: body.token as string }
  }

  const settings = { wifi: { ssid: 'depot', password: 'correct horse' } }
  const newProfile = async (): Promise<string> =>
    (await admin('POST', `/orgs/${organizationId}/configs`, { name: 'Depot', settings })).body.id

  /** Applies a profile to the router. Returns the job that the router takes. */
  async function takeProfile(profileId: string, { id, token }: { id: string; token: string }) {
    await admin('POST', `/orgs/${organizationId}/configs/${profileId}/apply`, { deviceIds: [id] })
    return until('the job', async () => {
      const answer = await call('GET', '/device/jobs/next?waitSeconds=5', undefined, { token })
      return answer.status === 200 && answer.body
    })
  }

  test('204 without a profile, 200 with the last applied one, 304 while it is unchanged', async () => {
    const { id, token } = await newRouter()
    expect((await call('GET', '/device/config', undefined, { token })).status).toBe(204)

    const profile = await newProfile()
    const done = { attempt: 1, status: 'succeeded' }
    const job = await takeProfile(profile, { id, token })
    expect((await call('POST', `/device/jobs/${job.id}/status`, done, { token })).status).toBe(200)

    const config = await call('GET', '/device/config', undefined, { token })
    expect(config).toMatchObject({ status: 200, body: { profile: { id: profile, version: 1, settings } } })
    const headers = { 'if-none-match': config.headers.get('etag') ?? '' }
    expect((await call('GET', '/device/config', undefined, { token, headers })).status).toBe(304)
  })

  test('409 after the profile was deleted, 204 while another one is being applied', async () => {
    const router = await newRouter()
    const { token } = router
    const read = () => call('GET', '/device/config', undefined, { token })
    const report = (id: string, status: string) =>
      call('POST', `/device/jobs/${id}/status`, { attempt: 1, status }, { token })
    const first = await newProfile()
    await report((await takeProfile(first, router)).id, 'succeeded')
    await admin('DELETE', `/orgs/${organizationId}/configs/${first}`)
    expect(await read()).toMatchObject({ status: 409, body: { code: 'profile_gone' } })

    const second = await newProfile()
    const { id } = await takeProfile(second, router)
    expect((await read()).status).toBe(204)
    await report(id, 'succeeded')
    expect(await read()).toMatchObject({ status: 200, body: { profile: { id: second, version: 1, settings } } })
  })

  test('a job that is retried after its profile was deleted delivers the version that it had', async () => {
    const router = await newRouter()
    const { token } = router
    const profile = await newProfile()
    const job = await takeProfile(profile, router)
    await call('POST', `/device/jobs/${job.id}/status`, { attempt: 1, status: 'failed' }, { token })
    await admin('DELETE', `/orgs/${organizationId}/configs/${profile}`)
    expect((await admin('POST', `/orgs/${organizationId}/jobs/${job.id}/retry`)).status).toBe(202)
    const retried = await until('the retry', async () => {
      const answer = await call('GET', '/device/jobs/next?waitSeconds=5', undefined, { token })
      return answer.status === 200 && answer.body
    })
    expect(retried).toMatchObject({ id: job.id, attempt: 2, parameters: { profile: { id: profile, settings } } })
  })

  test('401 without a token, 403 for a disabled device', async () => {
    expect((await call('GET', '/device/config')).status).toBe(401)
    const { id, token } = await newRouter()
    await admin('PATCH', `/devices/${id}`, { status: 'disabled' })
    await until('the edge heard of it', async () => {
      const answer = await call('GET', '/device/config', undefined, { token })
      return answer.status === 403 && answer.body.code === 'device_disabled'
    })
  })
})

// This test is the last one: for one minute, further failures from this address receive 429.
test('401 for a wrong enrollment key, 429 after repeated attempts', async () => {
  expect(await enroll('fle_wrong', 'SN-1')).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
  const refused = await until(
    'the limit',
    async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => enroll('fle_wrong', 'SN-1')))
      return answers.find(({ status }) => status === 429)
    },
    60_000,
  )
  expect(refused.body.code).toBe('rate_limited')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
})
