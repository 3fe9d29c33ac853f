import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { insertOrganization } from '#fleet/organizations/organizations'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { startIdentityProvider, type TestIdentityProvider } from '#test/identity-provider'

const baseUrl = 'http://routerfleet.test'
const users: Record<string, Record<string, unknown>> = {}

let provider: TestIdentityProvider
let api: TestControlPlane
let organizationId: string

beforeAll(async () => {
  provider = await startIdentityProvider(baseUrl, users)
  api = await startControlPlane({
    ...provider.environment,
    PUBLIC_BASE_URL: baseUrl,
    TRUSTED_PROXY_HOPS: '1',
    OIDC_PROVIDER_NAME: 'Example login',
    OIDC_GROUP_ROLES: JSON.stringify({ admins: 'platform', guests: {} }),
  })
  organizationId = (await insertOrganization(api.services.pool, 'Harbour ferries', 'pro')).id
  users.olga = { name: 'Olga Operator', orgs: { [organizationId]: ['operator'] } }
  users.vera = { ...users.olga, name: 'Vera', email: 'Vera@example.com', email_verified: true }
  users.mallory = { ...users.olga, name: 'Mallory', email: 'victim@example.com', email_verified: false }
  users.pia = { name: 'Pia', email: 'Pia@example.com', email_verified: true }
  users.max = { name: 'Max', email: 'pia@example.com', email_verified: false }
  users.anna = { name: 'Anna Admin', groups: ['admins'] }
  users.nobody = { name: 'Nobody', groups: ['guests', 'others'] }
})
afterAll(async () => {
  await api.close()
  provider.close()
})

let addresses = 0
const ownAddress = () => ({ 'x-forwarded-for': `2001:db8:0:${(addresses++).toString(16)}::1` })
const cookiesOf = (response: Response) => response.headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '')
const locationOf = (response: Response) => response.headers.get('location') ?? ''

/** Begins a sign-in as a browser does. Returns the provider's address and the cookie of the attempt. */
async function begin(returnTo = '#/devices', at = api) {
  const path = `/auth/oidc/start?${new URLSearchParams({ returnTo })}`
  const response = await at.fetch(path, { headers: ownAddress() })
  return { response, address: new URL(locationOf(response)), cookie: cookiesOf(response)[0] ?? '' }
}

/** Signs in at the provider's own page. Returns the address to which it sends the browser back. */
async function signInAtProvider(address: URL, login: string): Promise<URL> {
  const jar = new Map<string, string>()
  let next = address
  for (let steps = 0; steps < 10; steps++) {
    if (next.origin === baseUrl) return next
    const isForm = next.pathname.startsWith('/login/')
    const response = await fetch(next, {
      redirect: 'manual',
      headers: { cookie: [...jar].map((pair) => pair.join('=')).join('; ') },
      ...(isForm ? { method: 'POST', body: new URLSearchParams({ login }) } : {}),
    })
    for (const cookie of cookiesOf(response))
      jar.set(cookie.slice(0, cookie.indexOf('=')), cookie.slice(cookie.indexOf('=') + 1))
    next = new URL(locationOf(response), next)
  }
  throw new Error(`The provider did not return from ${next}.`)
}

const finish = (callback: URL, cookie: string, at = api) =>
  at.fetch(`${callback.pathname}${callback.search}`, { headers: { ...ownAddress(), cookie } })

async function signIn(login: string, returnTo?: string, at = api) {
  const { address, cookie } = await begin(returnTo, at)
  const response = await finish(await signInAtProvider(address, login), cookie, at)
  const session = cookiesOf(response).find((one) => one.includes('=fls_'))
  return { response, session }
}

const me = async (cookie: string | undefined) =>
  (await api.call('GET', '/auth/me', { headers: { cookie: cookie ?? '' } })).body

describe('signing in at the identity provider', () => {
  test('confirms the address of the person for alerts, if the provider has verified it', async () => {
    const key = await api.newKey([organizationId], 'operator')
    const emails = ['vera@example.com', 'victim@example.com']
    const json = { name: 'A', condition: { kind: 'offline', forMinutes: 5 }, channels: { emails } }
    const { body: rule } = await api.call('POST', `/orgs/${organizationId}/alert-rules`, { token: key, json })
    expect(rule.unconfirmedEmails).toHaveLength(2)
    for (const login of ['vera', 'mallory']) expect((await signIn(login)).session).toBeDefined()
    const read = await api.call('GET', `/orgs/${organizationId}/alert-rules/${rule.id}`, { token: key })
    expect(read.body.unconfirmedEmails).toEqual([{ email: 'victim@example.com', state: 'waiting' }])
  })

  test('starts a session with the roles of the organizations claim, and returns to the view', async () => {
    const { response, session } = await signIn('olga')
    expect([response.status, locationOf(response)]).toEqual([302, `${baseUrl}/#/devices`])
    expect(await me(session)).toMatchObject({
      id: `user:${provider.issuer}|olga`,
      name: 'Olga Operator',
      platform: false,
      organizations: [{ id: organizationId, scopes: expect.arrayContaining(['job:create']) }],
    })
    const cookie = session ?? ''
    expect((await api.call('GET', `/orgs/${organizationId}/groups`, { headers: { cookie } })).status).toBe(200)
    expect((await api.call('GET', `/orgs/${organizationId}/audit`, { headers: { cookie } })).status).toBe(403)
  })

  test('adds up the roles of an organization whose id is spelled in two ways', async () => {
    users.twice = { name: 'Twice', orgs: { [organizationId]: ['admin'], [organizationId.toUpperCase()]: ['viewer'] } }
    const { session } = await signIn('twice')
    expect(await me(session)).toMatchObject({
      organizations: [{ id: organizationId, scopes: expect.arrayContaining(['key:manage']) }],
    })
  })

  test('adds the roles of the person whose address the provider has verified, until the person is removed', async () => {
    const personId = randomUUID()
    const { pool } = api.services
    await pool.query("INSERT INTO person (id, email, name, is_confirmed) VALUES ($1, 'pia@example.com', 'Pia', true)", [
      personId,
    ])
    await pool.query("INSERT INTO person_role VALUES ($1, $2, 'admin', 'test')", [organizationId, personId])
    expect(locationOf((await signIn('max')).response)).toContain('problem=no_access')
    const { session } = await signIn('pia')
    expect(await me(session)).toMatchObject({
      id: `user:${provider.issuer}|pia`,
      organizations: [{ id: organizationId }],
    })
    await pool.query("UPDATE sign_in_session SET check_at = now() WHERE user_name = 'Pia'")
    const isChecked = async () =>
      (
        await pool.query(
          "SELECT FROM sign_in_session WHERE user_name = 'Pia' AND check_at > now() + interval '5 minutes'",
        )
      ).rowCount
    await expect.poll(isChecked, { timeout: 20_000 }).toBe(1)
    expect(await me(session)).toMatchObject({ organizations: [{ id: organizationId }] })
    const token = await api.newKey([organizationId], 'admin')
    await api.call('DELETE', `/orgs/${organizationId}/people/${personId}`, { token })
    await expect.poll(async () => (await me(session)).status, { timeout: 5_000 }).toBe(401)
  })

  test('makes the members of a configured group platform administrators', async () => {
    expect(await me((await signIn('anna')).session)).toMatchObject({ platform: true, organizations: [] })
  })

  test('starts no session for a user without access', async () => {
    const { response, session } = await signIn('nobody')
    expect(locationOf(response)).toBe(`${baseUrl}/#/sign-in?problem=no_access`)
    expect(session).toBeUndefined()
  })

  test('sends PKCE, state and nonce, and keeps the secrets of the attempt unreadable', async () => {
    const { address, response, cookie } = await begin()
    expect(address.origin).toBe(provider.issuer)
    const { code_challenge_method, code_challenge, state, nonce, redirect_uri } = Object.fromEntries(
      address.searchParams,
    )
    expect({ code_challenge_method, redirect_uri }).toEqual({
      code_challenge_method: 'S256',
      redirect_uri: `${baseUrl}/auth/oidc/callback`,
    })
    for (const value of [code_challenge, state, nonce]) expect(value?.length).toBeGreaterThan(20)
    expect(response.headers.get('set-cookie')).toMatch(/Path=\/auth\/oidc; HttpOnly; SameSite=Lax/)
    expect(cookie).not.toContain(state)
  })

  test.each(['https://evil.example', '//evil.example', '/\\evil.example', '#@evil.example', '#/ \n'])(
    'never returns to %j',
    async (returnTo) => {
      const { response } = await signIn('olga', returnTo)
      expect(locationOf(response)).toBe(`${baseUrl}/#/map`)
    },
  )
})

describe('GET /auth/oidc/callback', () => {
  const problemOf = (response: Response) => locationOf(response).split('problem=')[1]

  test('refuses a code in another browser, a code that was used, and another state', async () => {
    const { address, cookie } = await begin()
    const callback = await signInAtProvider(address, 'olga')
    expect(problemOf(await finish(callback, ''))).toBe('expired')
    expect(problemOf(await finish(callback, (await begin()).cookie))).toBe('refused')
    expect(cookiesOf(await finish(callback, cookie)).join()).toContain('=fls_')
    expect(problemOf(await finish(callback, cookie))).toBe('refused')
  })

  test('tells the page when the provider refused the user', async () => {
    const { cookie, address } = await begin()
    const state = address.searchParams.get('state')
    const denied = new URL(`${baseUrl}/auth/oidc/callback?error=access_denied&state=${state}`)
    expect(problemOf(await finish(denied, cookie))).toBe('refused')
  })
})

// The control plane looks for sessions to check every few seconds, so the tests wait side by side, each with its own user.
describe.concurrent.each([
  ['userinfo', false],
  ['a refresh token', true],
])('a session that is checked by %s', (_way, refreshes) => {
  const people: Record<string, Record<string, unknown>> = {}
  let own: TestIdentityProvider
  let plane: TestControlPlane
  let first: string
  let second: string
  beforeAll(async () => {
    own = await startIdentityProvider(baseUrl, people, { refreshes })
    plane = await startControlPlane({
      ...own.environment,
      PUBLIC_BASE_URL: baseUrl,
      TRUSTED_PROXY_HOPS: '1',
      OIDC_GROUP_ROLES: JSON.stringify({ admins: 'platform' }),
    })
    first = (await insertOrganization(plane.services.pool, 'First', 'pro')).id
    second = (await insertOrganization(plane.services.pool, 'Second', 'pro')).id
  })
  afterAll(async () => {
    await plane.close()
    own.close()
  })
  const caller = async (cookie: string) => (await plane.call('GET', '/auth/me', { headers: { cookie } })).body
  const statusOf = async (cookie: string) => (await plane.call('GET', '/auth/me', { headers: { cookie } })).status
  const signInTo = async (login: string) => (await signIn(login, '#/devices', plane)).session ?? ''
  const checked = { timeout: 30_000, interval: 200 }
  /** Makes the check of a session due. Returns the id of the session. */
  const checkNow = async (cookie: string): Promise<string> => {
    const { sessionId } = await caller(cookie)
    await plane.services.pool.query('UPDATE sign_in_session SET check_at = now() WHERE id = $1', [sessionId])
    return sessionId
  }
  /** The audit entries of the first organization about a session. */
  const entriesAbout = async (sessionId: string, action: string) => {
    const path = `/orgs/${first}/audit?action=${action}`
    const { items } = (await plane.call('GET', path, { token: plane.platformKey })).body
    return items.filter((entry: { subjectId: string }) => entry.subjectId === sessionId)
  }

  test('loses the roles that its user loses, and gets new ones', async () => {
    people.olga = { name: 'Olga', orgs: { [first]: ['operator'], [second]: ['viewer'] } }
    const cookie = await signInTo('olga')
    expect((await caller(cookie)).organizations).toHaveLength(2)
    people.olga = { name: 'Olga Owner', orgs: { [second]: ['admin'] } }
    const sessionId = await checkNow(cookie)
    await vi.waitFor(async () => {
      expect(await caller(cookie)).toMatchObject({
        name: 'Olga Owner',
        organizations: [{ id: second, scopes: expect.arrayContaining(['key:manage']) }],
      })
    }, checked)
    expect(await entriesAbout(sessionId, 'session.roles_changed')).toMatchObject([{ actor: 'system' }])
    // The next check works with what the first one stored.
    people.olga = { name: 'Olga', orgs: { [first]: ['viewer'] } }
    await checkNow(cookie)
    await vi.waitFor(
      async () => expect(await caller(cookie)).toMatchObject({ organizations: [{ id: first }] }),
      checked,
    )
  })

  test('is no longer one of the platform when its user leaves the group', async () => {
    people.anna = { name: 'Anna', groups: ['admins'], orgs: { [first]: ['viewer'] } }
    const cookie = await signInTo('anna')
    expect(await caller(cookie)).toMatchObject({ platform: true })
    people.anna = { ...people.anna, groups: [] }
    await checkNow(cookie)
    await vi.waitFor(async () => expect(await caller(cookie)).toMatchObject({ platform: false }), checked)
  })

  test.each([
    ['is disabled', 'nils'],
    ['has no role any more', 'rita'],
  ])('ends when its user %s', async (what, login) => {
    people[login] = { name: login, orgs: { [first]: ['viewer'] } }
    const cookie = await signInTo(login)
    expect(await statusOf(cookie)).toBe(200)
    if (what === 'is disabled') delete people[login]
    else people[login] = { name: login }
    const sessionId = await checkNow(cookie)
    await vi.waitFor(async () => expect(await statusOf(cookie)).toBe(401), checked)
    expect(await entriesAbout(sessionId, 'session.revoked')).toMatchObject([
      { actor: 'system', detail: { reason: expect.any(String) } },
    ])
  })

  test('stores the tokens of its user encrypted', async () => {
    people.tara = { name: 'Tara', orgs: { [first]: ['viewer'] } }
    await signInTo('tara')
    const { rows } = await plane.services.pool.query<{ provider_tokens: string }>(
      'SELECT provider_tokens FROM sign_in_session WHERE provider_tokens IS NOT NULL',
    )
    for (const row of rows)
      expect(row.provider_tokens.split('.')[0]).toBe(Buffer.from('{"alg":"dir","enc":"A256GCM"}').toString('base64url'))
    expect(rows.length).toBeGreaterThan(0)
  })

  // After the others, because it stops their provider.
  test.sequential('works for an hour while the provider does not respond, and a session of before the upgrade until it expires', async () => {
    people.henk = { name: 'Henk', orgs: { [first]: ['viewer'] } }
    const [cookie, old] = [await signInTo('henk'), await signInTo('henk')]
    const { pool } = plane.services
    await pool.query(
      `UPDATE sign_in_session SET provider_tokens = NULL, confirmed_at = NULL, check_at = NULL WHERE id = $1`,
      [(await caller(old)).sessionId],
    )
    own.close()
    await checkNow(cookie)
    const waiting = 'SELECT FROM sign_in_session WHERE check_at <= now()'
    await vi.waitFor(async () => expect((await pool.query(waiting)).rowCount).toBe(0), checked)
    expect(await statusOf(cookie)).toBe(200)
    await pool.query("UPDATE sign_in_session SET confirmed_at = confirmed_at - interval '61 minutes'")
    await vi.waitFor(async () => expect(await statusOf(cookie)).toBe(401), checked)
    expect(await statusOf(old)).toBe(200)
  })
})

test('the page learns the name of the provider', async () => {
  const { body } = await api.call('GET', '/auth/session')
  expect(body).toEqual({ caller: null, provider: { name: 'Example login', signsOut: true }, sendsLinks: false })
})

test('a sign-out continues at the provider, which returns to the page', async () => {
  const response = await api.fetch('/auth/oidc/sign-out', { headers: ownAddress() })
  const address = new URL(locationOf(response))
  expect([response.status, address.origin]).toEqual([302, provider.issuer])
  expect(Object.fromEntries(address.searchParams)).toEqual({
    client_id: 'routerfleet',
    post_logout_redirect_uri: `${baseUrl}/`,
  })
})

test('without a provider, there is nothing to start; with one that does not respond, the page says so', async () => {
  const without = await startControlPlane()
  const away = await startControlPlane({ OIDC_ISSUER: 'http://127.0.0.1:9', OIDC_CLIENT_ID: 'routerfleet' })
  try {
    expect((await without.fetch('/auth/oidc/start?returnTo=%23%2Fmap')).status).toBe(404)
    const response = await away.fetch('/auth/oidc/start?returnTo=%23%2Fmap')
    expect(locationOf(response)).toMatch(/#\/sign-in\?problem=unavailable$/)
    expect(locationOf(await away.fetch('/auth/oidc/sign-out'))).toMatch(/#\/map$/)
  } finally {
    await without.close()
    await away.close()
  }
})
