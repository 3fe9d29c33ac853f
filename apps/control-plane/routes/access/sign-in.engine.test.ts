import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane({ TRUSTED_PROXY_HOPS: '1' })
})
afterAll(() => api.close())

const page = { 'x-routerfleet-page': '1' }

async function newLink(token: string): Promise<string> {
  const { body } = await api.call('POST', '/auth/sign-in-links', { token })
  return new URL(body.url).hash.split('link=')[1] ?? ''
}

let addresses = 0

/** Signs in from a new address. Returns the response and the cookie as a browser sends it back. */
async function signIn(link: string, headers: Record<string, string> = {}) {
  const address = { 'x-forwarded-for': `2001:db8:0:${(addresses++).toString(16)}::1` }
  const answer = await api.call('POST', '/auth/session', {
    json: { link },
    headers: { ...page, ...address, ...headers },
  })
  return { answer, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

const me = (cookie: string) => api.call('GET', '/auth/me', { headers: { cookie } })

describe('POST /auth/sign-in-links', () => {
  test('201 returns an address whose secret is after the #', async () => {
    const { key } = await api.newOrganization()
    const { body } = await api.call('POST', '/auth/sign-in-links', { token: key })
    expect(body.url).toMatch(/^http:\/\/routerfleet\.test\/#\/sign-in\?link=fll_/)
    const minutes = (Date.parse(body.expiresAt) - api.services.clock()) / 60_000
    expect(minutes).toBeGreaterThan(9)
    expect(minutes).toBeLessThan(11)
  })

  test('403 for a session, which cannot pass on its access', async () => {
    const { key } = await api.newOrganization()
    const { cookie } = await signIn(await newLink(key))
    expect(await api.call('POST', '/auth/sign-in-links', { headers: { ...page, cookie } })).toMatchObject({
      status: 403,
      body: { code: 'api_key_required' },
    })
  })
})

describe('POST /auth/sign-in-links with a short-lived credential', () => {
  test('403 api_key_required for an access token of the same key, which would outlive itself', async () => {
    const { key } = await api.newOrganization()
    const form = new URLSearchParams({ grant_type: 'client_credentials', client_id: key, client_secret: key })
    const { body } = await api.call('POST', '/auth/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    })
    expect(await api.call('POST', '/auth/sign-in-links', { token: body.access_token })).toMatchObject({
      status: 403,
      body: { code: 'api_key_required', detail: expect.stringContaining('Send the key itself') },
    })
    expect((await api.call('POST', '/auth/sign-in-links', { token: key })).status).toBe(201)
  })
})

describe('POST /auth/session', () => {
  test('201 sets a cookie with the scopes of the key that made the link', async () => {
    const { id, key } = await api.newOrganization()
    const viewer = await api.newKey([id], 'viewer')
    const { answer, cookie } = await signIn(await newLink(viewer))
    expect(answer).toMatchObject({ status: 201, body: { name: 'test', platform: false, organizations: [{ id }] } })
    expect(answer.headers.get('set-cookie')).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/)
    expect((await me(cookie)).body).toEqual(answer.body)
    expect((await api.call('GET', `/orgs/${id}`, { headers: { cookie } })).status).toBe(200)
    expect((await api.call('GET', `/orgs/${id}/audit`, { headers: { cookie } })).status).toBe(403)
    const audit = await api.call('GET', `/orgs/${id}/audit?action=session.started`, { token: key })
    expect(audit.body.items).toMatchObject([{ subjectId: answer.body.sessionId }])
  })

  test('401 for a used, expired or unknown link', async () => {
    const { key } = await api.newOrganization()
    const link = await newLink(key)
    await signIn(link)
    const expired = await newLink(key)
    await api.services.pool.query("UPDATE sign_in_link SET expires_at = now() - interval '1 second'")
    for (const invalid of [link, expired, 'fll_nonsense', key]) {
      expect((await signIn(invalid)).answer).toMatchObject({ status: 401, body: { code: 'link_invalid' } })
    }
  })

  test('401 for a link whose key was revoked', async () => {
    const { id, key } = await api.newOrganization()
    const json = { name: 'Laptop', role: 'viewer' }
    const laptop = (await api.call('POST', `/orgs/${id}/api-keys`, { token: key, json })).body
    const link = await newLink(laptop.key)
    await api.call('DELETE', `/orgs/${id}/api-keys/${laptop.id}`, { token: key })
    expect((await signIn(link)).answer.status).toBe(401)
  })

  test('one link signs in one of two browsers that use it at the same time', async () => {
    const { key } = await api.newOrganization()
    const link = await newLink(key)
    const both = await Promise.all([signIn(link), signIn(link)])
    expect(both.map(({ answer }) => answer.status).sort()).toEqual([201, 401])
  })

  test('replaces the session that the browser had, and never takes over an identifier from outside', async () => {
    const { key } = await api.newOrganization()
    const before = await signIn(await newLink(key))
    const after = await signIn(await newLink(key), { cookie: before.cookie })
    expect(after.cookie).not.toBe(before.cookie)
    expect((await me(after.cookie)).status).toBe(200)
    await vi.waitFor(async () => expect((await me(before.cookie)).status).toBe(401), 6_000)
    const invented = `${before.cookie.split('=')[0]}=fls_0123456789abcdef_${'0'.repeat(64)}_000000`
    expect((await signIn(await newLink(key), { cookie: invented })).cookie).not.toBe(invented)
  })

  test('403 without the header of the page, which leaves the link usable', async () => {
    const { key } = await api.newOrganization()
    const link = await newLink(key)
    const forged = await api.call('POST', '/auth/session', { json: { link } })
    expect(forged).toMatchObject({ status: 403, body: { code: 'forged_request' } })
    expect((await signIn(link)).answer.status).toBe(201)
  })

  test.each([
    ['one address', () => '192.0.2.7'],
    ['the addresses of one IPv6 network', (attempt: number) => `2001:db8:7:7::${attempt.toString(16)}`],
  ])('429 after too many attempts of %s', async (_, addressOf) => {
    const attempt = (number: number) =>
      api.call('POST', '/auth/session', {
        json: { link: 'fll_x' },
        headers: { ...page, 'x-forwarded-for': addressOf(number) },
      })
    const statuses: number[] = []
    for (let attempts = 0; attempts < 31; attempts++) statuses.push((await attempt(attempts)).status)
    expect(new Set(statuses.slice(0, 30))).toEqual(new Set([401]))
    expect(statuses.at(-1)).toBe(429)
  })
})

describe('a session cookie', () => {
  test('cannot change anything from another site or without the header of the page', async () => {
    const { id, key } = await api.newOrganization()
    const { cookie } = await signIn(await newLink(key))
    const rename = (headers: Record<string, string>) =>
      api.call('PATCH', `/orgs/${id}`, { json: { name: 'Changed' }, headers: { cookie, ...headers } })
    expect(await rename({})).toMatchObject({ status: 403, body: { code: 'forged_request' } })
    expect((await rename({ ...page, 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await rename({ ...page, 'sec-fetch-site': 'same-site' })).status).toBe(403)
    expect((await rename({ ...page, 'sec-fetch-site': 'same-origin' })).status).toBe(200)
    expect((await rename(page)).status).toBe(200)
  })

  test('is not a bearer token, and an API key in the header takes precedence over it', async () => {
    const [a, b] = [await api.newOrganization(), await api.newOrganization()]
    const { cookie } = await signIn(await newLink(a.key))
    const token = cookie.split('=')[1] ?? ''
    expect((await api.call('GET', '/auth/me', { token })).status).toBe(401)
    const { body } = await api.call('GET', '/auth/me', { token: b.key, headers: { cookie } })
    expect(body).toMatchObject({ sessionId: null, organizations: [{ id: b.id }] })
  })

  test('ends with its key, and when it expires', async () => {
    const { id, key } = await api.newOrganization()
    const json = { name: 'Laptop', role: 'viewer' }
    const laptop = (await api.call('POST', `/orgs/${id}/api-keys`, { token: key, json })).body
    const ofKey = await signIn(await newLink(laptop.key))
    const expiring = await signIn(await newLink(key))
    expect([(await me(ofKey.cookie)).status, (await me(expiring.cookie)).status]).toEqual([200, 200])
    await api.call('DELETE', `/orgs/${id}/api-keys/${laptop.id}`, { token: key })
    await api.services.pool.query('UPDATE sign_in_session SET expires_at = now() WHERE id = $1', [
      expiring.answer.body.sessionId,
    ])
    await vi.waitFor(async () => {
      expect([(await me(ofKey.cookie)).status, (await me(expiring.cookie)).status]).toEqual([401, 401])
    }, 6_000)
  })

  test('is sent over TLS only if the public address has https', async () => {
    const secured = await startControlPlane({ PUBLIC_BASE_URL: 'https://fleet.example.com' })
    try {
      const { body } = await secured.call('POST', '/auth/sign-in-links', { token: secured.platformKey })
      const json = { link: new URL(body.url).hash.split('link=')[1] }
      const { headers } = await secured.call('POST', '/auth/session', { json, headers: page })
      expect(headers.get('set-cookie')).toMatch(
        /^__Host-routerfleet=fls_\w+; .*Path=\/; HttpOnly; Secure; SameSite=Strict$/,
      )
    } finally {
      await secured.close()
    }
  })
})

describe('GET /auth/session', () => {
  test('200 with the caller, and with null without or with an invalid cookie', async () => {
    const { key } = await api.newOrganization()
    const { answer, cookie } = await signIn(await newLink(key))
    const read = (headers: Record<string, string>) => api.call('GET', '/auth/session', { headers })
    expect((await read({ cookie })).body).toEqual({ caller: answer.body, provider: null, sendsLinks: false })
    expect((await read({})).body).toEqual({ caller: null, provider: null, sendsLinks: false })
    expect((await read({ cookie: `${cookie.slice(0, -1)}x` })).body.caller).toBeNull()
  })
})

describe('DELETE /auth/session', () => {
  test('204 ends the session and removes the cookie', async () => {
    const { key } = await api.newOrganization()
    const { cookie } = await signIn(await newLink(key))
    const { status, headers } = await api.call('DELETE', '/auth/session', { headers: { ...page, cookie } })
    expect(status).toBe(204)
    expect(headers.get('set-cookie')).toContain('Max-Age=0')
    await vi.waitFor(async () => expect((await me(cookie)).status).toBe(401), 6_000)
    expect((await api.call('DELETE', '/auth/session', { headers: { cookie } })).status).toBe(403)
  })
})

describe('GET /auth/sessions, DELETE /auth/sessions/:id', () => {
  test('200 lists the sessions of the same person, and 204 ends one of them', async () => {
    const { key } = await api.newOrganization()
    const [first, second] = [
      await signIn(await newLink(key)),
      await signIn(await newLink(key), { 'user-agent': 'Lynx' }),
    ]
    await me(first.cookie)
    await api.services.lastUses.flush()
    const { body } = await api.call('GET', '/auth/sessions', { headers: { cookie: second.cookie } })
    expect(body.items).toMatchObject([
      { id: second.answer.body.sessionId, current: true, userAgent: 'Lynx', lastUsedAt: null },
      { id: first.answer.body.sessionId, current: false, lastUsedAt: expect.any(String) },
    ])
    const path = `/auth/sessions/${first.answer.body.sessionId}`
    const headers = { ...page, cookie: second.cookie }
    expect((await api.call('DELETE', path, { headers })).status).toBe(204)
    expect((await api.call('DELETE', path, { headers })).status).toBe(404)
    await vi.waitFor(async () => expect((await me(first.cookie)).status).toBe(401), 6_000)
  })

  test('404 for the session of another person', async () => {
    const [a, b] = [await api.newOrganization(), await api.newOrganization()]
    const { answer } = await signIn(await newLink(a.key))
    const path = `/auth/sessions/${answer.body.sessionId}`
    expect((await api.call('DELETE', path, { token: b.key })).status).toBe(404)
  })
})

describe('GET /orgs/:orgId/sessions, DELETE /orgs/:orgId/sessions/:id', () => {
  test('200 lists the sessions of the people of the organization, and 204 ends one of them', async () => {
    const [a, b] = [await api.newOrganization(), await api.newOrganization()]
    const viewer = await api.newKey([a.id], 'viewer')
    const ofViewer = await signIn(await newLink(viewer), { 'user-agent': 'Lynx' })
    const administrator = await signIn(await newLink(a.key))
    await signIn(await newLink(b.key))
    await signIn(await newLink(api.platformKey))
    const list = await api.call('GET', `/orgs/${a.id}/sessions`, { headers: { cookie: administrator.cookie } })
    expect(list.body.items).toMatchObject([
      { id: administrator.answer.body.sessionId, current: true },
      { id: ofViewer.answer.body.sessionId, current: false, userAgent: 'Lynx', principalId: ofViewer.answer.body.id },
    ])
    const path = `/orgs/${a.id}/sessions/${ofViewer.answer.body.sessionId}`
    const headers = { ...page, cookie: administrator.cookie }
    expect((await api.call('DELETE', path, { headers })).status).toBe(204)
    expect((await api.call('DELETE', path, { headers })).status).toBe(404)
    await vi.waitFor(async () => expect((await me(ofViewer.cookie)).status).toBe(401), 6_000)
    const audit = await api.call('GET', `/orgs/${a.id}/audit?action=session.revoked`, { token: a.key })
    expect(audit.body.items).toMatchObject([{ detail: { principalId: ofViewer.answer.body.id } }])
  })

  test('403 without key:manage, and 404 for the session and the administrator of another organization', async () => {
    const [a, b] = [await api.newOrganization(), await api.newOrganization()]
    const { answer } = await signIn(await newLink(a.key))
    const sessionId = answer.body.sessionId
    const viewer = await api.newKey([a.id], 'viewer')
    expect((await api.call('GET', `/orgs/${a.id}/sessions`, { token: viewer })).status).toBe(403)
    expect((await api.call('GET', `/orgs/${a.id}/sessions`, { token: b.key })).status).toBe(404)
    expect((await api.call('DELETE', `/orgs/${a.id}/sessions/${sessionId}`, { token: viewer })).status).toBe(403)
    expect((await api.call('DELETE', `/orgs/${b.id}/sessions/${sessionId}`, { token: b.key })).status).toBe(404)
  })
})

describe('GET /sessions, DELETE /sessions/:id', () => {
  test('200 lists the sessions of platform administrators and of all people, and 204 ends one of them', async () => {
    const { id, key } = await api.newOrganization()
    const colleague = await signIn(await newLink(api.platformKey), { 'user-agent': 'Lynx' })
    const person = await signIn(await newLink(key))
    const [colleagueId, personId] = [colleague.answer.body.sessionId, person.answer.body.sessionId]
    const token = api.platformKey
    const read = async (query: string) =>
      (await api.call('GET', `/sessions?limit=200&${query}`, { token })).body.items as { id: string }[]
    const ofPlatform = await read('platform=true')
    expect(ofPlatform[0]).toMatchObject({ id: colleagueId, platform: true, userAgent: 'Lynx', current: false })
    expect(ofPlatform.map((session) => session.id)).not.toContain(personId)
    expect((await read('platform=false'))[0]).toMatchObject({ id: personId, platform: false })
    expect((await read('')).map((session) => session.id).slice(0, 2)).toEqual([personId, colleagueId])

    for (const { ended, cookie } of [
      { ended: colleagueId, cookie: colleague.cookie },
      { ended: personId, cookie: person.cookie },
    ]) {
      expect((await api.call('DELETE', `/sessions/${ended}`, { token })).status).toBe(204)
      expect((await api.call('DELETE', `/sessions/${ended}`, { token })).status).toBe(404)
      await vi.waitFor(async () => expect((await me(cookie)).status).toBe(401), 6_000)
    }
    const revoked = (path: string) => api.call('GET', `${path}?action=session.revoked`, { token })
    expect((await revoked('/audit')).body.items).toMatchObject([{ subjectId: personId }, { subjectId: colleagueId }])
    expect((await revoked(`/orgs/${id}/audit`)).body.items).toMatchObject([{ subjectId: personId }])
    const started = await api.call('GET', `/audit?action=session.started&subjectId=${colleagueId}`, { token })
    expect(started.body.items).toMatchObject([{ subjectType: 'session', actor: colleague.answer.body.id }])
  })

  test('403 for the administrator of an organization', async () => {
    const { key } = await api.newOrganization()
    const { answer } = await signIn(await newLink(key))
    expect((await api.call('GET', '/sessions', { token: key })).status).toBe(403)
    expect((await api.call('DELETE', `/sessions/${answer.body.sessionId}`, { token: key })).status).toBe(403)
    expect((await api.call('GET', '/audit', { token: key })).status).toBe(403)
  })
})
