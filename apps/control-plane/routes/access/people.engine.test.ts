import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Scope } from '#fleet/access/scopes'
import { deleteExpired } from '#fleet/retention'
import { reportMailServer } from '#messages/mail-server'
import type { MailWorker } from '#messages/mail-worker'
import { createMailer } from '#messages/mailer'
import { sendInvitations, sendSignInMails } from '#people/send-mails'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { startSmtp, type TestSmtp } from '#test/smtp'

let api: TestControlPlane
let smtp: TestSmtp
let worker: MailWorker

beforeAll(async () => {
  smtp = await startSmtp()
  api = await startControlPlane({ TRUSTED_PROXY_HOPS: '1' })
  const mailer = createMailer({ smtpUrl: smtp.smtpUrl, from: 'Routerfleet <fleet@example.com>' })
  // Ahead of the database by more than a test takes on a busy machine.
  worker = { pool: api.services.pool, plans: api.services.plans, clock: () => Date.now() + 10 * 60_000, mailer }
})
afterAll(async () => {
  worker.mailer.close()
  await smtp.close()
  await api.close()
})
beforeEach(() => {
  smtp.received.length = 0
  smtp.refuseWith(undefined)
})

const withMail = () => reportMailServer(api.services.pool)
const withoutMail = () => api.services.pool.query('DELETE FROM mail_server')

let clients = 0
/** A request of the web page, from an address of its own. */
const page = (cookie?: string) => ({
  'x-routerfleet-page': '1',
  'x-forwarded-for': `2001:db8:1:${(clients++).toString(16)}::1`,
  ...(cookie === undefined ? {} : { cookie }),
})
/** What the sign-in page learns, which is asked at most once a second. */
const pageSendsLinks = async () => (await api.call('GET', '/auth/session')).body.sendsLinks
const tokenOf = (url: string) => /link=(fl\w_\w+)/.exec(url)?.[1] ?? ''
/** The token of the link in the last message, whose lines the encoding breaks. */
const mailed = () => tokenOf((smtp.received.at(-1)?.raw ?? '').replaceAll('=\r\n', '').replaceAll('=3D', '='))

async function signedIn(method: string, path: string, json: unknown) {
  const answer = await api.call(method, path, { json, headers: page() })
  return { answer, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
}
const accept = (link: string, name = 'Ada Byron') => signedIn('POST', '/auth/invitation-acceptances', { link, name })
const useLink = (link: string) => signedIn('POST', '/auth/session', { link })
const as = (cookie: string, method: string, path: string, json?: unknown) =>
  api.call(method, path, { headers: page(cookie), ...(json === undefined ? {} : { json }) })

let people = 0
const newEmail = () => `person-${people++}@example.com`

async function newOrganization(name = 'Harbour ferries') {
  const { id, key } = await api.newOrganization({ name })
  const call = (method: string, path: string, json?: unknown, token = key) =>
    api.call(method, `/orgs/${id}${path}`, { token, ...(json === undefined ? {} : { json }) })
  const invite = (email: string, role = 'operator') => call('POST', '/invitations', { email, role })
  /** Joins through a message, as the owner of the address. */
  const join = async (email: string, role = 'operator', name?: string) => {
    await withMail()
    await invite(email, role)
    await sendInvitations(worker)
    return accept(mailed(), name)
  }
  const audit = async (action: string) => (await call('GET', `/audit?action=${action}`)).body.items
  return { id, key, call, invite, join, audit }
}

/** Asks for a sign-in link and uses it. */
async function signInByMail(email: string) {
  await api.services.pool.query('DELETE FROM sign_in_mail')
  await api.call('POST', '/auth/sign-in-mails', { json: { email }, headers: page() })
  await sendSignInMails(worker)
  return useLink(mailed())
}

describe('an invitation without a mail server', () => {
  beforeEach(() => withoutMail())

  test('is a link that is shown once, works once, and makes a colleague', async () => {
    const org = await newOrganization()
    const email = newEmail()
    const created = await org.invite(email.toUpperCase())
    expect(created).toMatchObject({ status: 201, body: { email, role: 'operator', invitedByName: 'test', mail: null } })
    expect(created.body.url).toMatch(/^http:\/\/routerfleet\.test\/#\/invitation\?link=fli_/)
    const link = tokenOf(created.body.url)
    expect(JSON.stringify((await org.call('GET', '/invitations')).body)).not.toContain(link)
    const about = { organizationName: 'Harbour ferries', email, role: 'operator', invitedByName: 'test', name: null }
    for (let looks = 0; looks < 2; looks++) {
      expect(await api.call('POST', '/auth/invitation-links', { json: { link }, headers: page() })).toMatchObject({
        status: 200,
        body: about,
      })
    }
    const { answer, cookie } = await accept(link)
    expect(answer).toMatchObject({ status: 201, body: { name: 'Ada Byron', organizations: [{ id: org.id }] } })
    expect((await as(cookie, 'GET', '/auth/me')).body).toEqual(answer.body)
    expect((await as(cookie, 'GET', `/orgs/${org.id}`)).status).toBe(200)
    expect((await as(cookie, 'GET', `/orgs/${org.id}/people`)).status).toBe(403)
    expect((await accept(link)).answer).toMatchObject({ status: 404, body: { code: 'link_invalid' } })
    expect((await org.call('GET', '/invitations')).body.items).toEqual([])
    expect((await org.call('GET', '/people')).body.items).toMatchObject([
      { name: 'Ada Byron', email, emailConfirmed: false, role: 'operator', invitedByName: 'test' },
    ])
  })

  test('gives no access to other organizations of the same address', async () => {
    const [north, south] = [await newOrganization('North'), await newOrganization('South')]
    const email = newEmail()
    await north.join(email, 'admin')
    await withoutMail()
    const created = await south.invite(email)
    const link = tokenOf(created.body.url)
    const about = await api.call('POST', '/auth/invitation-links', { json: { link }, headers: page() })
    expect(about.body.name).toBeNull()
    const { answer, cookie } = await accept(link, 'Somebody else')
    expect(answer.body.organizations).toMatchObject([{ id: south.id }])
    expect((await as(cookie, 'GET', `/orgs/${north.id}`)).status).toBe(404)
    expect((await as(cookie, 'GET', '/auth/sessions')).body.items).toHaveLength(1)
  })

  test('the owner of the address takes over, and whoever held the link is signed out', async () => {
    const [north, south] = [await newOrganization('North'), await newOrganization('South')]
    const email = newEmail()
    const other = await accept(tokenOf((await north.invite(email)).body.url), 'Somebody else')
    await accept(tokenOf((await south.invite(email)).body.url), 'Ada')
    const [shown] = (await north.call('GET', '/people')).body.items
    const unused = tokenOf((await north.call('POST', `/people/${shown.id}/sign-in-links`)).body.url)
    await withMail()
    const { answer, cookie } = await signInByMail(email)
    const ids = answer.body.organizations.map(({ id }: { id: string }) => id)
    expect(ids.sort()).toEqual([north.id, south.id].sort())
    expect((await as(cookie, 'GET', `/orgs/${north.id}`)).status).toBe(200)
    expect((await as(other.cookie, 'GET', '/auth/me')).status).toBe(401)
    expect((await useLink(unused)).answer.status).toBe(401)
    expect((await south.call('GET', '/people')).body.items).toMatchObject([{ email, emailConfirmed: true }])
  })

  test('an administrator creates further sign-in links for people without e-mail', async () => {
    const org = await newOrganization()
    await accept(tokenOf((await org.invite(newEmail())).body.url))
    const [person] = (await org.call('GET', '/people')).body.items
    const created = await org.call('POST', `/people/${person.id}/sign-in-links`)
    expect(created).toMatchObject({ status: 201 })
    const { answer } = await useLink(tokenOf(created.body.url))
    expect(answer).toMatchObject({ status: 201, body: { id: `person:${person.id}` } })
    expect(await org.audit('person.link_created')).toMatchObject([{ subjectId: person.id }])
  })

  test('409 mail_server_missing for a sign-in link by e-mail, and the page knows before', async () => {
    const asked = await api.call('POST', '/auth/sign-in-mails', { json: { email: 'a@example.com' }, headers: page() })
    expect(asked).toMatchObject({ status: 409, body: { code: 'mail_server_missing' } })
    await expect.poll(pageSendsLinks).toBe(false)
  })
})

describe('an invitation by e-mail', () => {
  beforeEach(() => withMail())

  test('is sent to the address, and confirms it', async () => {
    const org = await newOrganization()
    const email = newEmail()
    const created = await org.invite(email, 'viewer')
    expect(created.body).toMatchObject({ url: null, mail: { state: 'waiting', error: null } })
    await Promise.all([sendInvitations(worker), sendInvitations(worker)])
    await sendInvitations(worker)
    expect(smtp.received).toMatchObject([{ to: [email], subject: 'Invitation to Harbour ferries' }])
    expect((await org.call('GET', '/invitations')).body.items).toMatchObject([{ email, mail: { state: 'sent' } }])
    const { answer } = await accept(mailed())
    expect(answer.status).toBe(201)
    const [person] = (await org.call('GET', '/people')).body.items
    expect(person).toMatchObject({ email, emailConfirmed: true, role: 'viewer' })
    expect(await org.call('POST', `/people/${person.id}/sign-in-links`)).toMatchObject({
      status: 409,
      body: { code: 'email_confirmed' },
    })
    const rule = { name: 'R', condition: { kind: 'offline', forMinutes: 5 }, channels: { emails: [email] } }
    expect((await org.call('POST', '/alert-rules', rule)).body.unconfirmedEmails).toEqual([])
  })

  test('a person is in several organizations, with a role in each and one name', async () => {
    const [north, south] = [await newOrganization('North'), await newOrganization('South')]
    const email = newEmail()
    await north.join(email, 'admin', 'Ada Byron')
    const { answer, cookie } = await south.join(email, 'viewer', 'Another name')
    expect(answer.body.name).toBe('Ada Byron')
    const canManage = async (id: string) => (await as(cookie, 'GET', `/orgs/${id}/people`)).status
    expect([await canManage(north.id), await canManage(south.id)]).toEqual([200, 403])
    const sessions = await south.call('GET', '/sessions')
    expect(sessions.body.items).toMatchObject([{ name: 'Ada Byron' }, { name: 'Ada Byron' }])
  })

  test('a new one replaces the earlier one, whose link stops working', async () => {
    const org = await newOrganization()
    const email = newEmail()
    await org.invite(email, 'admin')
    await sendInvitations(worker)
    const first = mailed()
    expect(await org.invite(email)).toMatchObject({ status: 429, body: { code: 'invitation_too_soon' } })
    await api.services.pool.query("UPDATE invitation SET created_at = now() - interval '2 minutes'")
    expect((await org.invite(email, 'viewer')).status).toBe(201)
    await sendInvitations(worker)
    expect((await accept(first)).answer.status).toBe(404)
    expect((await accept(mailed())).answer.status).toBe(201)
    expect(await org.invite(email)).toMatchObject({ status: 409, body: { code: 'person_exists' } })
  })

  test('a withdrawn or expired one cannot be accepted', async () => {
    const org = await newOrganization()
    const { body } = await org.invite(newEmail())
    await sendInvitations(worker)
    const withdrawn = mailed()
    expect((await org.call('DELETE', `/invitations/${body.id}`)).status).toBe(204)
    expect((await org.call('DELETE', `/invitations/${body.id}`)).status).toBe(404)
    expect((await org.call('GET', '/invitations')).body.items).toEqual([])
    expect((await org.invite(body.email)).status).toBe(429)
    expect((await accept(withdrawn)).answer.status).toBe(404)
    await org.invite(newEmail())
    await sendInvitations(worker)
    await api.services.pool.query("UPDATE invitation SET expires_at = now() - interval '1 second'")
    expect((await accept(mailed())).answer.status).toBe(404)
  })

  test('an address gets at most five a day, also after they were withdrawn', async () => {
    const org = await newOrganization()
    const email = newEmail()
    const later = (time: string) =>
      api.services.pool.query('UPDATE invitation SET created_at = created_at - $1::interval WHERE email = $2', [
        time,
        email,
      ])
    for (let messages = 0; messages < 5; messages++) {
      const { status, body } = await org.invite(email)
      expect(status).toBe(201)
      await org.call('DELETE', `/invitations/${body.id}`)
      await later('2 minutes')
    }
    const refused = await org.invite(email)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000)
    await later('1 day')
    expect((await org.invite(email)).status).toBe(201)
  })

  test('says when the mail server refuses the address', async () => {
    const org = await newOrganization()
    smtp.refuseWith(550)
    await org.invite(newEmail())
    await sendInvitations(worker)
    expect((await org.call('GET', '/invitations')).body.items).toMatchObject([
      { mail: { state: 'failed', error: expect.stringContaining('550') } },
    ])
  })

  test('409 for an address whose owner refused messages of the organization', async () => {
    const org = await newOrganization()
    const email = newEmail()
    await api.services.pool.query(
      "INSERT INTO alert_address (organization_id, address, state) VALUES ($1, $2, 'refused')",
      [org.id, email],
    )
    expect(await org.invite(email)).toMatchObject({ status: 409, body: { code: 'address_refused' } })
  })

  test('counts against the messages of the day', async () => {
    const org = await newOrganization()
    const plans = Object.fromEntries(
      Object.entries(worker.plans).map(([name, plan]) => [name, { ...plan, alertMailsPerDay: 1 }]),
    )
    for (let invitations = 0; invitations < 3; invitations++) await org.invite(newEmail())
    for (let rounds = 0; rounds < 3; rounds++) await sendInvitations({ ...worker, plans })
    expect(smtp.received).toHaveLength(1)
  })

  test.each(['victim@example.com\r\nBcc: x@example.com', 'no address', ''])('400 for the address %j', async (email) => {
    const org = await newOrganization()
    expect((await org.invite(email)).status).toBe(400)
  })
})

describe('roles', () => {
  test('nobody gives a role with scopes that they do not hold', async () => {
    const org = await newOrganization()
    const held: Scope[] = ['key:manage', 'device:read']
    const weak = await api.newKey([org.id], held)
    const json = { email: newEmail(), role: 'admin' }
    expect(await org.call('POST', '/invitations', json, weak)).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    })
    await org.join(newEmail(), 'viewer')
    const [{ id }] = (await org.call('GET', '/people')).body.items
    expect((await org.call('PATCH', `/people/${id}`, { role: 'admin' }, weak)).status).toBe(403)
    expect((await org.call('GET', '/people')).body.items).toMatchObject([{ role: 'viewer' }])
  })

  test('a changed role takes effect at the next request', async () => {
    const org = await newOrganization()
    const { cookie } = await org.join(newEmail(), 'viewer')
    const groups = () => as(cookie, 'POST', `/orgs/${org.id}/groups`, { name: `G${people++}` })
    expect((await groups()).status).toBe(403)
    const [{ id }] = (await org.call('GET', '/people')).body.items
    expect((await org.call('PATCH', `/people/${id}`, { role: 'operator' })).body).toMatchObject({ role: 'operator' })
    await expect.poll(async () => (await groups()).status, { timeout: 5_000 }).toBe(201)
    expect(await org.audit('person.role_changed')).toMatchObject([
      { subjectId: id, detail: { from: 'viewer', to: 'operator' } },
    ])
  })

  test('a person who was removed is out within 5 seconds, also of other organizations only if it was the last', async () => {
    const [north, south] = [await newOrganization('North'), await newOrganization('South')]
    const email = newEmail()
    await north.join(email)
    const { cookie } = await south.join(email)
    expect((await as(cookie, 'GET', `/orgs/${north.id}`)).status).toBe(200)
    const [{ id }] = (await north.call('GET', '/people')).body.items
    expect((await north.call('DELETE', `/people/${id}`)).status).toBe(204)
    await expect.poll(async () => (await as(cookie, 'GET', `/orgs/${north.id}`)).status, { timeout: 5_000 }).toBe(404)
    expect((await as(cookie, 'GET', `/orgs/${south.id}`)).status).toBe(200)
    await south.call('DELETE', `/people/${id}`)
    await expect.poll(async () => (await as(cookie, 'GET', '/auth/me')).status, { timeout: 5_000 }).toBe(401)
    expect(await south.audit('person.removed')).toMatchObject([{ subjectId: id, detail: { email } }])
    await signInByMail(email)
    expect(smtp.received.filter(({ subject }) => subject === 'Your sign-in link')).toEqual([])
  })

  test('people without organizations are forgotten a day later', async () => {
    const org = await newOrganization()
    await org.join(newEmail())
    const [{ id }] = (await org.call('GET', '/people')).body.items
    const isKnown = async () => (await api.services.pool.query('SELECT FROM person WHERE id = $1', [id])).rowCount === 1
    await api.services.pool.query("UPDATE person SET joined_at = now() - interval '2 days' WHERE id = $1", [id])
    await deleteExpired(api.services)
    expect(await isKnown()).toBe(true)
    await org.call('DELETE', `/people/${id}`)
    await deleteExpired(api.services)
    expect(await isKnown()).toBe(false)
  })
})

describe('POST /auth/sign-in-mails', () => {
  beforeEach(() => withMail())

  test('the link in the message works once', async () => {
    const org = await newOrganization()
    const email = newEmail()
    await org.join(email)
    const { answer, cookie } = await signInByMail(email.toUpperCase())
    expect(answer).toMatchObject({ status: 201, body: { name: 'Ada Byron', organizations: [{ id: org.id }] } })
    expect((await as(cookie, 'GET', `/orgs/${org.id}`)).status).toBe(200)
    expect((await useLink(mailed())).answer.status).toBe(401)
    await expect.poll(pageSendsLinks).toBe(true)
  })

  test('answers the same for unknown people, and sends them nothing', async () => {
    const org = await newOrganization()
    const email = newEmail()
    await org.join(email)
    smtp.received.length = 0
    await api.services.pool.query('DELETE FROM sign_in_mail')
    const ask = (to: string) => api.call('POST', '/auth/sign-in-mails', { json: { email: to }, headers: page() })
    const [known, unknown] = [await ask(email), await ask('nobody@example.com')]
    expect(known.status).toBe(202)
    expect({ ...unknown, headers: null }).toEqual({ ...known, headers: null, body: { email: 'nobody@example.com' } })
    await Promise.all(Array.from({ length: 10 }, () => ask(email)))
    while ((await sendSignInMails(worker)) > 0);
    expect(smtp.received.map(({ to }) => to.join())).toEqual([email])
  })

  test('a person gets at most five messages an hour', async () => {
    const org = await newOrganization()
    const email = newEmail()
    await org.join(email)
    smtp.received.length = 0
    await api.services.pool.query('DELETE FROM sign_in_mail')
    for (let requests = 0; requests < 8; requests++) {
      await api.call('POST', '/auth/sign-in-mails', { json: { email }, headers: page() })
      await api.services.pool.query("UPDATE sign_in_mail SET created_at = created_at - interval '2 minutes'")
    }
    while ((await sendSignInMails(worker)) > 0);
    expect(smtp.received).toHaveLength(5)
  })
})

test('a person changes the name for all organizations; keys have none to change', async () => {
  const [north, south] = [await newOrganization('North'), await newOrganization('South')]
  const email = newEmail()
  await north.join(email, 'viewer')
  const { cookie } = await south.join(email, 'viewer')
  const renamed = await as(cookie, 'PATCH', '/auth/me', { name: 'Ada Lovelace' })
  expect(renamed).toMatchObject({ status: 200, body: { name: 'Ada Lovelace' } })
  await expect.poll(async () => (await as(cookie, 'GET', '/auth/me')).body.name).toBe('Ada Lovelace')
  for (const org of [north, south]) {
    expect((await org.call('GET', '/people')).body.items).toMatchObject([{ name: 'Ada Lovelace' }])
    expect(await org.audit('person.joined')).toMatchObject([{ actorName: 'Ada Lovelace' }])
  }
  expect((await as(cookie, 'PATCH', '/auth/me', { name: ' ' })).status).toBe(400)
  expect(await api.call('PATCH', '/auth/me', { token: north.key, json: { name: 'Key' } })).toMatchObject({
    status: 403,
    body: { code: 'person_required' },
  })
})

test('a sign-in link of an API key cannot be made by a person', async () => {
  const org = await newOrganization()
  const { cookie } = await org.join(newEmail(), 'admin')
  expect(await as(cookie, 'POST', '/auth/sign-in-links')).toMatchObject({
    status: 403,
    body: { code: 'api_key_required' },
  })
})

test('what people do is in the audit log under their id', async () => {
  const org = await newOrganization()
  const email = newEmail()
  const { cookie } = await org.join(email, 'admin')
  const [{ id }] = (await org.call('GET', '/people')).body.items
  await as(cookie, 'POST', `/orgs/${org.id}/groups`, { name: 'Ferries' })
  expect(await org.audit('group.created')).toMatchObject([{ actor: `person:${id}`, actorName: 'Ada Byron' }])
  expect(await org.audit('invitation.created')).toMatchObject([{ detail: { email, role: 'admin' } }])
  expect(await org.audit('person.joined')).toMatchObject([{ actor: `person:${id}`, subjectId: id }])
  expect(await org.audit('session.started')).toMatchObject([{ actor: `person:${id}` }])
  await org.call('DELETE', `/people/${id}`)
  expect(await org.audit('group.created')).toMatchObject([{ actorName: 'Ada Byron' }])
})
