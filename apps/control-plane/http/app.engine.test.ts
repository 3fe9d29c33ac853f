import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Pool } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { issueToken } from '#core/tokens'
import { version } from '#core/version'
import { startServer } from '#http/server'
import { transaction } from '#postgres/pool'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { routes } from '../routes.ts'
import { createApp } from './app.ts'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

describe('every answer', () => {
  test('has the request id of the request, or a new one', async () => {
    const given = await api.call('GET', '/livez', { headers: { 'x-request-id': 'trace-1' } })
    expect(given.headers.get('x-request-id')).toBe('trace-1')
    const refused = await api.call('GET', '/nowhere')
    expect(refused).toMatchObject({
      status: 404,
      body: { code: 'not_found', requestId: refused.headers.get('x-request-id') },
    })
  })

  test('has the rate limit of the plan for an authenticated caller', async () => {
    const { key } = await api.newOrganization({ plan: 'free' })
    const answer = await api.call('GET', '/devices', { token: key })
    expect(answer.headers.get('ratelimit-policy')).toBe('"minute";q=120;w=60')
    expect(answer.headers.get('ratelimit')).toMatch(/^"minute";r=119;t=\d+$/)
  })

  test('is compressed on request', async () => {
    const answer = await api.fetch('/openapi.json', { headers: { 'accept-encoding': 'br' } })
    expect(answer.headers.get('content-encoding')).toBe('br')
    expect(answer.headers.get('vary')).toBe('accept-encoding')
  })

  test('has one Vary header with the encoding', async () => {
    const { id, key } = await api.newOrganization()
    const json = { organizationId: id, serial: 'SN', name: 'R', model: 'M' }
    const { body, headers: created } = await api.call('POST', '/devices', { token: key, json })
    const gps = await api.call('GET', '/fleet/gps', { token: key })
    const asked: [string, number, Record<string, string>][] = [
      ['/livez', 200, {}],
      ['/openapi.json', 200, {}],
      ['/devices', 200, {}],
      [`/devices/${body.id}`, 304, { 'if-none-match': created.get('etag') ?? '' }],
      ['/devices/export?format=csv', 200, {}],
      ['/fleet/gps', 200, {}],
      ['/fleet/gps', 304, { 'if-none-match': gps.headers.get('etag') ?? '' }],
    ]
    for (const [path, status, headers] of asked) {
      for (const encoding of ['gzip', 'identity']) {
        const answer = await api.fetch(path, {
          headers: { authorization: `Bearer ${key}`, 'accept-encoding': encoding, ...headers },
        })
        await answer.body?.cancel()
        expect([path, answer.status, answer.headers.get('vary')]).toEqual([path, status, 'accept-encoding'])
      }
    }
  })

  test('of a list of organizations documents the same errors as similar routes', async () => {
    const { body } = await api.call('GET', '/openapi.json')
    const statuses = Object.keys(body.paths['/orgs'].get.responses)
    for (const status of ['400', '401', '403', '429', '500', '503']) expect(statuses).toContain(status)
  })

  test('to an unknown parameter is 400, also for a route without parameters', async () => {
    const { id, key } = await api.newOrganization()
    for (const path of ['/devices', '/orgs', `/orgs/${id}`, `/orgs/${id}/usage`]) {
      expect(await api.call('GET', `${path}?colour=red`, { token: key })).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: 'colour', code: 'unknown_field' }] },
      })
    }
    expect((await api.call('GET', '/livez?from=probe')).status).toBe(200)
  })

  test('to a number of a query that is not decimal is 400', async () => {
    const { key } = await api.newOrganization()
    const bad = ['zoom=', 'zoom=0x4', 'zoom=%204', 'sinceMinutes=1e400'].map((query) => `/fleet/gps?${query}`)
    for (const path of [...bad, '/fleet/dwells?minDurationS=', '/towns/nearest?lat=&lon=5', '/devices?limit=+5']) {
      const answer = await api.call('GET', path, { token: key })
      expect(answer, path).toMatchObject({ status: 400, body: { errors: [{ detail: 'Must be a number.' }] } })
    }
  })

  test('to a box with small numbers as programs write them is 200', async () => {
    const { key } = await api.newOrganization()
    const statusOf = async (bbox: string) =>
      (await api.call('GET', `/fleet/dwells?bbox=${bbox}`, { token: key })).status
    expect(await statusOf(`${-1e-7},${1e-7},.5,5.`)).toBe(200)
    for (const bad of ['1,2,3', '1,2,3,4,5', '1,2,3,4,x', '1,2,3,', '0x1,2,3,4', '1e400,0,1,1'])
      expect(await statusOf(bad), bad).toBe(400)
  })

  test('to null as a body is 400, as to every body that is not an object', async () => {
    const { id, key } = await api.newOrganization()
    const device = await api.call('POST', '/devices', {
      token: key,
      json: { organizationId: id, serial: 'S-1', name: 'Bus', model: 'R' },
    })
    for (const body of ['null', '[]', '""']) {
      const sent = { token: key, headers: { 'content-type': 'application/json' }, body }
      const answer = await api.call('POST', `/devices/${device.body.id}/token`, sent)
      expect(answer, body).toMatchObject({ status: 400, body: { detail: 'The body: Must be an object.' } })
    }
  })

  test('to a malformed id in a path is the same as to an unknown id', async () => {
    const { id, key } = await api.newOrganization()
    const detailOf = async (path: string) => {
      const { status, body } = await api.call('GET', path, { token: key })
      expect([status, body.code]).toEqual([404, 'not_found'])
      return body.detail
    }
    const paths: [string, (unknown: string) => string][] = [
      ['device', (unknown) => `/devices/${unknown}`],
      ['organization', (unknown) => `/orgs/${unknown}`],
      ['organization', (unknown) => `/orgs/${unknown}/groups`],
      ['group', (unknown) => `/orgs/${id}/groups/${unknown}`],
      ['profile', (unknown) => `/orgs/${id}/configs/${unknown}`],
      ['job', (unknown) => `/orgs/${id}/jobs/${unknown}`],
      ['job batch', (unknown) => `/orgs/${id}/job-batches/${unknown}`],
    ]
    for (const [noun, path] of paths) {
      for (const unknown of ['nonsense', newId()]) {
        expect(await detailOf(path(unknown))).toBe(`No such ${noun}: ${unknown}.`)
      }
    }
  })

  test('to HEAD is that of GET without a body', async () => {
    const answer = await api.fetch('/livez', { method: 'HEAD' })
    expect([answer.status, await answer.text()]).toEqual([200, ''])
  })
})

describe('limits', () => {
  test('429 when all keys of the organization together have reached its limit per minute', async () => {
    const { id, key } = await api.newOrganization({ plan: 'free' })
    const other = await api.newKey([id], 'viewer')
    for (let n = 0; n < 120; n += 1)
      expect((await api.call('GET', '/devices', { token: n % 2 ? key : other })).status).toBe(200)
    const refused = await api.call('GET', '/devices', { token: key })
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('429 after 120 failed authentications from an address in a minute, only for that address', async () => {
    const fresh = await startControlPlane({ TRUSTED_PROXY_HOPS: '1' })
    try {
      const from = (address: string, token: string) =>
        fresh.call('GET', '/devices', { token, headers: { 'x-forwarded-for': `6.6.6.6, ${address}` } })
      const { key } = await fresh.newOrganization()
      for (let n = 0; n < 120; n += 1) expect((await from('192.0.2.1', issueToken('flk').token)).status).toBe(401)
      const refused = await from('192.0.2.1', issueToken('flk').token)
      expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await from('192.0.2.1', key)).status).toBe(200)
      expect((await from('::ffff:192.0.2.1', issueToken('flk').token)).status).toBe(429)
      expect((await from('192.0.2.2', issueToken('flk').token)).status).toBe(401)
      const ofNetwork = (n: number) => from(`2001:db8:1:2:${n.toString(16)}::1`, issueToken('flk').token)
      for (let n = 0; n < 120; n += 1) expect((await ofNetwork(n)).status).toBe(401)
      expect((await ofNetwork(120)).status).toBe(429)
      expect((await from('2001:db8:1:3::1', issueToken('flk').token)).status).toBe(401)
    } finally {
      await fresh.close()
    }
  })
})

describe('GET /metrics', () => {
  test('200 with the metrics of all apps and app_up; 401 and 403 without access', async () => {
    const ingest = createServer((_request, response) =>
      response.end('# TYPE telemetry_samples_accepted_total counter\ntelemetry_samples_accepted_total 7\n'),
    )
    await new Promise<void>((resolve) => ingest.listen(0, '127.0.0.1', resolve))
    const { port } = ingest.address() as AddressInfo
    const whole = await startControlPlane({ INGEST_URL: `http://127.0.0.1:${port}`, WORKER_URL: 'http://127.0.0.1:9' })
    try {
      const { key } = await whole.newOrganization()
      const answer = await whole.call('GET', '/metrics', { token: whole.platformKey })
      expect(answer.status).toBe(200)
      expect(answer.body).toContain('\ntelemetry_samples_accepted_total 7\n')
      expect(answer.body).toContain('app_up{app="ingest"} 1')
      expect(answer.body).toContain('app_up{app="worker"} 0')
      expect(answer.body).toMatch(/process_cpu_seconds_total\S* /)
      expect((await whole.call('GET', '/metrics')).status).toBe(401)
      expect((await whole.call('GET', '/metrics', { token: key })).status).toBe(403)
    } finally {
      await whole.close()
      ingest.close()
    }
  })
})

describe('GET /readyz', () => {
  test('503 with the component that is unavailable', async () => {
    expect(await api.call('GET', '/readyz')).toMatchObject({
      status: 503,
      body: { code: 'not_ready', version, checks: { postgres: 'ok', questdb: 'ok', ingest: 'failed' } },
    })
  })
})

describe('the published contract', () => {
  test('is OpenAPI 3.1 without broken references', async () => {
    const { body } = await api.call('GET', '/openapi.json')
    expect(body.openapi).toBe('3.1.0')
    const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
      ([, name]) => name,
    )
    expect(references.length).toBeGreaterThan(0)
    expect(references.filter((name) => !(String(name) in body.components.schemas))).toEqual([])
    const ids = Object.values(body.paths).flatMap((methods) =>
      Object.values(methods as object).map(({ operationId }) => operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('redirects /docs to the OpenAPI document if the web page is not built', async () => {
    const answer = await api.fetch('/docs', { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([302, 'openapi.json'])
  })
})

describe('the device edge', () => {
  const authorization = `Bearer ${issueToken('fld').token}`

  test('is forwarded with its body, and its response is returned, both without hop-by-hop headers', async () => {
    const service = await startBehind(async (request, response) => {
      if (request.url === '/device/token') return response.writeHead(204).end()
      const chunks = await request.toArray()
      response.writeHead(202, { 'content-type': 'application/json', 'keep-alive': 'timeout=1', 'x-kept': 'yes' })
      response.end(
        JSON.stringify({ url: request.url, body: Buffer.concat(chunks).toString(), headers: request.headers }),
      )
    })
    try {
      // fetch may not send Connection itself.
      const { status, headers, body } = await send(`${service.url}/telemetry?a=1`, '{"samples":[]}', {
        authorization,
        connection: 'X-Private',
        'x-private': 'secret',
        'x-request-id': 'r-9',
        'x-forwarded-for': '192.0.2.7',
      })
      const seen = JSON.parse(body)
      expect(status).toBe(202)
      expect(headers['x-kept']).toBe('yes')
      expect(seen).toMatchObject({
        url: '/telemetry?a=1',
        body: '{"samples":[]}',
        headers: {
          authorization,
          'content-length': '14',
          'x-request-id': 'r-9',
          'x-forwarded-for': '192.0.2.7, 127.0.0.1',
        },
      })
      expect(seen.headers).not.toHaveProperty('x-private')
      expect(await service.api.services.metrics.registry.metrics()).toContain(
        'http_requests_total{method="POST",route="/telemetry",status="202"} 1',
      )
    } finally {
      await service.close()
    }
  })

  test('keeps the connection open for the next request, also after responses without a body', async () => {
    const service = await startBehind((_request, response) => response.writeHead(204, { 'x-request-id': 'e-1' }).end())
    const pool = new Pool(service.url, { connections: 1 })
    try {
      for (const method of ['GET', 'HEAD', 'GET'] as const) {
        const answer = await pool.request({
          method,
          path: '/device/jobs/next?waitSeconds=1',
          headers: { authorization },
        })
        expect([answer.statusCode, answer.headers['x-request-id'], await answer.body.text()]).toEqual([204, 'e-1', ''])
      }
    } finally {
      await pool.close()
      await service.close()
    }
  })

  test('receives the path as it was sent', async () => {
    const service = await startBehind((request, response) =>
      request.url === '/device/token' ? response.writeHead(204).end() : response.writeHead(200).end(request.url),
    )
    try {
      for (const path of [
        '/device/jobs/%00/status',
        '/device/jobs/%5C/status?a=%20',
        '/device/jobs/%F0%9F%9A%80/status',
      ]) {
        expect(await send(service.url + path, '{}', { authorization })).toMatchObject({ status: 200, body: path })
      }
    } finally {
      await service.close()
    }
  })

  test('is informed when a router disconnects while it waits for a job', async () => {
    let left = () => {}
    const hasLeft = new Promise<void>((resolve) => {
      left = resolve
    })
    let waits = () => {}
    const isWaiting = new Promise<void>((resolve) => {
      waits = resolve
    })
    const service = await startBehind((_request, response) => {
      response.once('close', left)
      waits()
    })
    try {
      const leaving = new AbortController()
      const waiting = fetch(`${service.url}/device/jobs/next?waitSeconds=55`, {
        signal: leaving.signal,
        headers: { authorization },
      })
      await isWaiting
      leaving.abort()
      await expect(waiting).rejects.toThrow()
      await hasLeft
    } finally {
      await service.close()
    }
  })

  test('returns an incomplete response as incomplete', async () => {
    const service = await startBehind((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      response.write('{"half":', () => response.destroy())
    })
    try {
      const answer = fetch(`${service.url}/device/config`, { headers: { authorization } })
      await expect(answer.then((response) => response.text())).rejects.toThrow()
    } finally {
      await service.close()
    }
  })

  test.each([
    ['/device/token', 'is asked about the token'],
    ['/telemetry', 'is passed the report'],
  ])('503 with Retry-After while it is away when %s %s', async (path) => {
    const service = await startBehind((asked, response) => {
      if (asked.url === path) response.destroy()
      else response.writeHead(204).end()
    })
    try {
      const answer = await send(`${service.url}/telemetry`, '{}', { authorization })
      expect([answer.status, JSON.parse(answer.body).code]).toEqual([503, 'device_edge_unavailable'])
      expect(answer.headers['retry-after']).toBe('2')
    } finally {
      await service.close()
    }
  })

  test('checks a token once, and again after it has rejected it', async () => {
    const asked: string[] = []
    const service = await startBehind((request, response) => {
      asked.push(request.url ?? '')
      const isRefused = request.url === '/telemetry' && asked.filter((url) => url === '/telemetry').length === 2
      request.resume().once('end', () => response.writeHead(isRefused ? 401 : 204).end())
    })
    try {
      const statuses = []
      for (let report = 0; report < 3; report += 1) {
        statuses.push((await send(`${service.url}/telemetry`, '{}', { authorization })).status)
      }
      expect(statuses).toEqual([204, 401, 204])
      expect(asked).toEqual(['/device/token', '/telemetry', '/telemetry', '/device/token', '/telemetry'])
    } finally {
      await service.close()
    }
  })

  test('of an earlier version, which cannot check tokens, receives the request', async () => {
    const service = await startBehind((request, response) => {
      request.resume().once('end', () => response.writeHead(request.url === '/telemetry' ? 202 : 404).end())
    })
    try {
      expect((await send(`${service.url}/telemetry`, '{}', { authorization })).status).toBe(202)
    } finally {
      await service.close()
    }
  })
})

test('/readyz checks its back ends once for concurrent requests', async () => {
  const asked: string[] = []
  const service = await startBehind((request, response) => {
    asked.push(request.url ?? '')
    response.writeHead(200).end()
  })
  try {
    const startedMs = performance.now()
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 20 }, () => fetch(`${service.url}/readyz`)))
    }
    const seconds = (performance.now() - startedMs) / 1_000
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.length).toBeLessThanOrEqual(1 + Math.ceil(seconds))
  } finally {
    await service.close()
  }
})

/** A control plane that listens, before a device edge that answers like this. */
async function startBehind(edgeAnswers: RequestListener) {
  const edge = createServer(edgeAnswers)
  await new Promise<void>((resolve) => edge.listen(0, '127.0.0.1', resolve))
  const api = await startControlPlane({ INGEST_URL: addressOf(edge) })
  const server = await startServer(createApp(routes, api.services).fetch, { host: '127.0.0.1', port: 0 })
  return {
    api,
    url: addressOf(server),
    async close() {
      server.close()
      server.closeAllConnections()
      await api.close()
      edge.close()
      edge.closeAllConnections()
    },
  }
}

const addressOf = (server: { address(): unknown }) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

async function send(url: string, body: string, headers: Record<string, string>) {
  const sent = request(url, { method: 'POST', headers: { ...headers, 'content-length': Buffer.byteLength(body) } })
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, headers: answer.headers, body: (await answer.toArray()).join('') }
}

test.each(['lock_timeout', 'statement_timeout'])('503 with Retry-After after a %s', async (limit) => {
  const hasty = await startControlPlane({ POSTGRES_URL: `${api.databaseUrl}?${limit}=300` })
  const { id, key } = await api.newOrganization()
  const json = { organizationId: id, serial: `SN-${limit}`, name: 'R', model: 'M' }
  const { body: device } = await api.call('POST', '/devices', { token: key, json })
  const change = () => hasty.call('PATCH', `/devices/${device.id}`, { token: key, json: { name: 'Renamed' } })
  try {
    await transaction(api.services.pool, async (connection) => {
      await connection.query('SELECT FROM device WHERE id = $1 FOR UPDATE', [device.id])
      const { status, headers, body } = await change()
      expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '2'])
    })
    expect(await change()).toMatchObject({ status: 200, body: { name: 'Renamed' } })
  } finally {
    await hasty.close()
  }
})
