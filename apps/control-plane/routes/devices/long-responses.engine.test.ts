import { once } from 'node:events'
import { get, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HttpServer } from '#http/listeners'
import { startServer } from '#http/server'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice } from '#test/registered-device'
import { seedDevices } from '#test/seed-devices'
import { applied, storeRows } from '#test/telemetry-rows'
import { startTokenIssuer } from '#test/token-issuer'
import { createApp } from '../../http/app.ts'
import { routes } from '../../routes.ts'

// Every response that takes long checks its caller again while it is read. Each is tested with all credentials of callers.

const minute = 60_000
let api: TestControlPlane
let issuer: Awaited<ReturnType<typeof startTokenIssuer>>
let server: HttpServer
/** The responses that the server has begun, by request id. */
const outgoing = new Map<string, ServerResponse>()
/** `small` fits into a few chunks; `large` does not fit into the buffers of a socket. */
let organization: Owner
const paths: Record<string, { small: string; large: string }> = {}

beforeAll(async () => {
  issuer = await startTokenIssuer()
  api = await startControlPlane(issuer.environment)
  const { fetch } = createApp(routes, api.services)
  const serve = (request: Request, environment: { outgoing: ServerResponse }) => {
    outgoing.set(request.headers.get('x-request-id') ?? '', environment.outgoing)
    return fetch(request, environment)
  }
  server = await startServer(serve, { host: '127.0.0.1', port: 0 })
  organization = await api.newOrganization()
  await seedDevices(api.services.pool, organization.id, 40_000)
  await seedDevices(api.services.pool, organization.id, 3_000, { tags: ['few'] })
  const deviceId = await registerDevice(api.services.pool, organization.id)
  await api.questdb.query(
    `INSERT INTO system (ts, device_id, org_id, received_at, cpu_pct, fault)
     SELECT dateadd('T', -400 * x::int, now()), '${deviceId}', '${organization.id}', now(), 5, 'none'
     FROM long_sequence(200000)`,
  )
  // Parquet compresses other values.
  const random = await registerDevice(api.services.pool, organization.id)
  await api.questdb.query(
    `INSERT INTO system (ts, device_id, org_id, received_at, fault)
     SELECT dateadd('s', -x::int, now()), '${random}', '${organization.id}', now(), rnd_str(500, 500, 0)
     FROM long_sequence(40000)`,
  )
  await applied(api.questdb, 'system')
  const history = `/api/router/${deviceId}/telemetry/history?sinceMinutes=1440&kind=system`
  paths['GET /devices/export as CSV'] = { small: '/devices/export?tag=few', large: '/devices/export' }
  paths['GET …/telemetry/history as CSV'] = {
    small: `${history}&format=csv&limit=3000`,
    large: `${history}&format=csv`,
  }
  paths[parquet] = {
    small: `${history}&format=parquet&limit=3000`,
    large: `${history.replace(deviceId, random)}&format=parquet`,
  }
  paths['GET …/telemetry/history as NDJSON'] = {
    small: `${history}&format=ndjson&limit=3000`,
    large: `${history}&format=ndjson`,
  }
}, 2 * minute)
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await api.close()
  issuer.close()
})

const parquet = 'GET …/telemetry/history as Parquet'
const files = [
  'GET /devices/export as CSV',
  'GET …/telemetry/history as CSV',
  'GET …/telemetry/history as NDJSON',
  parquet,
]
const idOf = (key: string) => key.split('_')[1] ?? ''
const newKey = (organizationId: string) => api.newKey([organizationId], 'viewer')

type Credentials = { headers: Record<string, string>; key: string; sessionId: string }
type NewCaller = (organizationId: string) => Promise<Credentials>

/** The credentials of a new caller that may read an organization. */
const callers: Record<string, NewCaller> = {
  'an API key': async (organizationId) => bearer(await newKey(organizationId)),
  'a session': (organizationId) => newSession(organizationId),
  'an access token': async (organizationId) => {
    const key = await newKey(organizationId)
    return bearer(await api.services.accessTokens.issue(idOf(key), Date.now()), key)
  },
  'a token of the identity provider': async (organizationId) =>
    bearer(await issuer.sign({ orgs: { [organizationId]: ['viewer'] } })),
}

const bearer = (token: string, key = token): Credentials => ({
  headers: { authorization: `Bearer ${token}` },
  key,
  sessionId: '',
})

async function newSession(organizationId: string): Promise<Credentials> {
  const key = await newKey(organizationId)
  const { body } = await api.call('POST', '/auth/sign-in-links', { token: key })
  const json = { link: new URL(body.url).hash.split('link=')[1] }
  const signedIn = await api.call('POST', '/auth/session', { json, headers: { 'x-routerfleet-page': '1' } })
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  return { headers: { cookie }, key, sessionId: signedIn.body.sessionId }
}

let requests = 0

/** Begins a response over a socket. `closed` resolves when the server ends it, with the milliseconds since `from`. */
async function begin(path: string, headers: Record<string, string>) {
  const requestId = `long-${requests++}`
  const { port } = server.address()
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers: { ...headers, 'x-request-id': requestId } }
    get(options, resolve).on('error', reject)
  })
  expect(answer.statusCode).toBe(200)
  answer.on('error', () => {})
  let text = ''
  answer.on('data', (chunk) => {
    text += String(chunk)
  })
  const ended = new Promise<{ isWhole: boolean; text: string }>((resolve) =>
    answer.once('close', () => resolve({ isWhole: answer.complete, text })),
  )
  const response = outgoing.get(requestId)
  if (!response) throw new Error('The response has not begun.')
  return { answer, ended, closed: once(response, 'close') }
}

describe.each(files)('%s', (name) => {
  test.each(Object.keys(callers))('is complete for %s', async (caller) => {
    const { headers } = (await callers[caller]?.(organization.id)) ?? {}
    const { ended } = await begin(paths[name]?.small ?? '', headers ?? {})
    const { isWhole, text } = await ended
    expect(isWhole).toBe(true)
    if (name === parquet) expect(text.endsWith('PAR1')).toBe(true)
    else expect(text.trimEnd().split('\n').length).toBeGreaterThanOrEqual(3_000)
  })

  test('breaks off within 5 s when its caller loses the access, also while it is not read', {
    timeout: minute,
  }, async () => {
    const lost = []
    // One after the other: side by side, the responses of one process would delay the checks of each other.
    for (const [loss, { by, lose }] of Object.entries(losses)) {
      const credentials = (await callers[by]?.(organization.id)) ?? bearer('')
      const { answer, ended, closed } = await begin(paths[name]?.large ?? '', credentials.headers)
      await once(answer, 'data')
      answer.pause()
      await lose(credentials, organization)
      const lostAtMs = performance.now()
      await closed
      const isPrompt = performance.now() - lostAtMs < 5_000
      answer.resume()
      lost.push([loss, isPrompt, (await ended).isWhole])
    }
    expect(lost).toEqual(Object.keys(losses).map((loss) => [loss, true, false]))
  })
})

// These wait for the next checks of their callers, side by side.
test.concurrent.each(files)(
  '%s breaks off when the token of an identity provider expires',
  { timeout: minute },
  async (name) => {
    const exp = Math.floor(Date.now() / 1_000) + 2
    const token = await issuer.sign({ orgs: { [organization.id]: ['viewer'] }, exp })
    const { answer, ended, closed } = await begin(paths[name]?.large ?? '', bearer(token).headers)
    await once(answer, 'data')
    answer.pause()
    await closed
    answer.resume()
    expect((await ended).isWhole).toBe(false)
  },
)

type Owner = { id: string; key: string }
type Loss = { by: string; lose: (credentials: Credentials, owner: Owner) => Promise<unknown> }

const revokeKey = ({ key }: Credentials) =>
  api.services.pool.query('UPDATE api_key SET revoked_at = now() WHERE id = $1', [idOf(key)])
const removeScopes = ({ key }: Credentials) =>
  api.services.pool.query("UPDATE api_key_grant SET scopes = '{org:read}' WHERE api_key_id = $1", [idOf(key)])
const removeOrganization = ({ key }: Credentials) =>
  api.services.pool.query('DELETE FROM api_key_grant WHERE api_key_id = $1', [idOf(key)])

/** All ways in which a caller can lose its access at once. */
const losses: Record<string, Loss> = {
  'the key is revoked': { by: 'an API key', lose: revokeKey },
  'the key loses its scopes': { by: 'an API key', lose: removeScopes },
  'the key loses its organization': { by: 'an API key', lose: removeOrganization },
  'the session is ended': {
    by: 'a session',
    lose: ({ sessionId }, { id, key }) => api.call('DELETE', `/orgs/${id}/sessions/${sessionId}`, { token: key }),
  },
  'the key of the session is revoked': { by: 'a session', lose: revokeKey },
  'the session loses its scopes': { by: 'a session', lose: removeScopes },
  'the session loses its organization': { by: 'a session', lose: removeOrganization },
  'the key of the token is revoked': { by: 'an access token', lose: revokeKey },
  'the token loses its scopes': { by: 'an access token', lose: removeScopes },
  'the token loses its organization': { by: 'an access token', lose: removeOrganization },
}

describe('GET /fleet/gps/stream', () => {
  const path = '/fleet/gps/stream?include=devices&tag=none'

  test.concurrent.each(Object.keys(callers))('continues after checks of %s', { timeout: minute }, async (caller) => {
    const { id } = await api.newOrganization()
    const deviceId = await registerDevice(api.services.pool, id)
    const { headers } = (await callers[caller]?.(id)) ?? {}
    const { answer } = await begin(`/fleet/gps/stream?include=devices`, headers ?? {})
    expect(String((await once(answer, 'data'))[0])).toContain('event: snapshot')
    const changed = once(answer, 'data')
    await storeRows(api.questdb, 'location', [
      { tsMs: Date.now(), deviceId, organizationId: id, lat: 10, lon: 10, fix: '3d', usable: true },
    ])
    expect(String((await changed)[0])).toMatch(/event: delta/)
    answer.destroy()
  })

  test('ends within 5 s when its caller loses the access', { timeout: minute }, async () => {
    // A large organization would delay the checks, because its map is read first.
    const owner = await api.newOrganization()
    const lost = await Promise.all(
      Object.entries(losses).map(async ([loss, { by, lose }]) => {
        const credentials = (await callers[by]?.(owner.id)) ?? bearer('')
        const { answer, ended } = await begin(path, credentials.headers)
        await once(answer, 'data')
        await lose(credentials, owner)
        const lostAtMs = performance.now()
        const { text } = await ended
        return [loss, performance.now() - lostAtMs < 5_000, /event: error\ndata: .*"code"/.test(text)]
      }),
    )
    expect(lost).toEqual(Object.keys(losses).map((loss) => [loss, true, true]))
  })
})
