import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issueToken } from '#core/tokens'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

// Bodies of unauthenticated callers are not read, or their memory is limited.

let service: WholeService
beforeAll(async () => {
  service = await startWholeService()
}, 120_000)
afterAll(() => service.close())

const mebibyte = 1024 * 1024
const json = { 'content-type': 'application/json' }
const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })

/** Sends the start of a body but not its end. */
function startUpload(path: string, headers: Record<string, string>, sentBytes: number) {
  const upload = request(service.url + path, {
    method: 'POST',
    agent,
    headers: { ...headers, 'content-length': mebibyte },
  })
  upload.on('error', () => {})
  upload.write(Buffer.alloc(sentBytes, ' '))
  upload.flushHeaders()
  const answer = (once(upload, 'response') as Promise<[IncomingMessage]>).then(async ([response]) => {
    const text = (await response.toArray()).join('')
    return { status: response.statusCode, code: JSON.parse(text).code as string, headers: response.headers }
  })
  answer.catch(() => {})
  return { answer, abort: () => upload.destroy() }
}

const admin = async (method: string, path: string, body?: unknown) => {
  const answer = await fetch(service.url + path, {
    method,
    headers: { authorization: `Bearer ${service.adminKey}`, ...(body === undefined ? {} : json) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: JSON.parse(await answer.text()) }
}

/** Returns a gauge of the control plane. Of several processes, the largest: limits are per process. */
async function gauge(name: string): Promise<number> {
  const answer = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${service.adminKey}` } })
  const lines = (await answer.text()).split('\n')
  // Metrics that several apps have are labelled with the app, and those of several processes with the process.
  const pattern = new RegExp(`^${name}(?:\\{(?:app="control-plane",?)?(?:copy="[^"]+")?\\})? (\\d+)$`)
  const values = lines.flatMap((line) => pattern.exec(line)?.[1] ?? [])
  expect(values).not.toEqual([])
  return Math.max(...values.map(Number))
}

async function newDeviceToken(serial: string): Promise<string> {
  const { body: organization } = await admin('POST', '/orgs', { name: serial, plan: 'pro' })
  const device = { organizationId: organization.id, serial, name: serial, model: 'RX400' }
  const { body } = await admin('POST', '/devices', device)
  return (await admin('POST', `/devices/${body.id}/token`, {})).body.token
}

test.each([
  ['no token', undefined],
  ['a malformed token', 'fld_wrong'],
  ['a token whose checksum is wrong', `${issueToken('fld').token.slice(0, -6)}zzzzzz`],
  ['an API key', issueToken('flk').token],
  ['a token nobody has', issueToken('fld').token],
])('POST /telemetry with %s is 401 before its body has arrived', async (_what, token) => {
  const headers = { ...json, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) }
  const upload = startUpload('/telemetry', headers, 0)
  const answer = await upload.answer
  expect(answer).toMatchObject({ status: 401, code: 'unauthenticated' })
  expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
  upload.abort()
})

test('a job report with an unknown token returns 401 before its body has arrived', async () => {
  const headers = { ...json, authorization: `Bearer ${issueToken('fld').token}` }
  const upload = startUpload('/device/jobs/0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f/status', headers, 0)
  expect(await upload.answer).toMatchObject({ status: 401 })
  upload.abort()
})

test('an API call with an unknown key returns 401 before its body has arrived', async () => {
  const upload = startUpload('/devices', { ...json, authorization: `Bearer ${issueToken('flk').token}` }, 0)
  expect(await upload.answer).toMatchObject({ status: 401 })
  upload.abort()
})

test('unfinished enrollments use a limited amount of memory, and other requests are served', async () => {
  const token = await newDeviceToken('bystander')
  const uploads = Array.from({ length: 300 }, () => startUpload('/device/enroll', json, 60_000))
  const refused = await Promise.race(uploads.map(({ answer }) => answer))
  expect(refused).toMatchObject({ status: 429, code: 'rate_limited', headers: { 'retry-after': '2' } })
  expect(await gauge('http_unauthenticated_body_bytes')).toBeGreaterThan(0)
  expect(await gauge('http_unauthenticated_body_bytes')).toBeLessThanOrEqual(4 * mebibyte)

  expect((await admin('GET', '/devices')).status).toBe(200)
  const report = await fetch(`${service.url}/telemetry`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${token}` },
    body: JSON.stringify({ samples: [{ kind: 'system', cpuPct: 5 }] }),
  })
  expect(report.status).toBe(202)

  for (const { abort } of uploads) abort()
  await until('nothing is held', async () => (await gauge('http_unauthenticated_body_bytes')) === 0)
  expect(await gauge('http_unauthenticated_bodies_arriving')).toBe(0)
})

test('uploads of one router use a limited amount of memory, and other routers are served', async () => {
  const [token, bystander] = [await newDeviceToken('noisy'), await newDeviceToken('quiet')]
  const headers = { ...json, authorization: `Bearer ${token}` }
  const uploads = Array.from({ length: 20 }, () => startUpload('/telemetry', headers, mebibyte - 1))
  const refused = await Promise.race(uploads.map(({ answer }) => answer))
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '2' } })
  expect(await gauge('http_device_body_bytes')).toBeLessThanOrEqual(8 * mebibyte)
  const report = await fetch(`${service.url}/telemetry`, {
    method: 'POST',
    headers: { ...json, authorization: `Bearer ${bystander}` },
    body: JSON.stringify({ samples: [{ kind: 'system', cpuPct: 5 }] }),
  })
  expect(report.status).toBe(202)
  for (const { abort } of uploads) abort()
  await until('nothing is held', async () => (await gauge('http_device_body_bytes')) === 0)
})
