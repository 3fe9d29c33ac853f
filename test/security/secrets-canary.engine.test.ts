import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Secret } from '#core/secret'
import { revealSettings } from '#fleet/config-profiles/delivered'
import { createKeyring } from '#fleet/crypto/keyring'
import { runCommand } from '#test/app-process'
import { masterSecret } from '#test/ingest-process'
import { deviceCalls } from '#test/job-service'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

let service: WholeService
/** Every answer of the API, as text with its headers. */
const answers: string[] = []

beforeAll(async () => {
  service = await startWholeService()
}, 120_000)
afterAll(() => service.close())

async function call(method: string, path: string, json?: unknown, key?: string) {
  const answer = await fetch(new URL(path, service.url), {
    method,
    headers: {
      authorization: `Bearer ${service.adminKey}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  })
  const text = await answer.text()
  answers.push(JSON.stringify([...answer.headers]) + text)
  return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
}

/** Every row of every table of every schema, the queues' included, as text. */
async function dump(): Promise<string> {
  const { rows: tables } = await service.pool.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  )
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await service.pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)
      return rows.map(({ row }) => row).join('\n')
    }),
  )
  return texts.join('\n')
}

/** A secret as it would show up in plain text, in bytea's hex, or in base64. */
const spellings = (secret: string) => [
  secret,
  Buffer.from(secret).toString('hex'),
  Buffer.from(secret).toString('base64').slice(0, -4),
]
const newSecret = () => `canary${randomBytes(12).toString('hex')}`

test('the secrets of a profile and of variables appear on the device’s own channel and nowhere else; the URL of a chat channel nowhere', async () => {
  const [wifi, psk, pin, refused, hook] = [newSecret(), newSecret(), newSecret(), newSecret(), newSecret()]
  const [vpn, apn, later] = [newSecret(), newSecret(), newSecret()]
  const organization = (await call('POST', '/orgs', { name: 'Harbour ferries', plan: 'pro' })).body.id
  const configs = `/orgs/${organization}/configs`
  const settings = { wifi: { ssid: 'depot', password: wifi }, networks: [{ psk }], sim: { user: { $secret: pin } } }
  const templates = { vpn: { $var: 'vpn_token' }, apn: { login: `\${device.name}/\${apn_login}` } }
  const key = randomUUID()
  const created = await call('POST', configs, { name: 'Depot', settings }, key)
  expect(created.status).toBe(201)
  expect((await call('POST', configs, { name: 'Depot', settings }, key)).body).toEqual(created.body)
  expect((await call('POST', configs, { name: 'Depot', settings: { pin: refused } }, key)).status).toBe(422)
  const one = `${configs}/${created.body.id}`
  expect((await call('PATCH', one, { settings: { wifi: { ssid: 'depot-2' }, ...templates } })).body.version).toBe(2)
  expect((await call('PATCH', one, { settings: { pin: refused, x: { $secret: refused, y: 1 } } })).status).toBe(400)
  expect((await call('POST', configs, { name: 'A', settings: { pin: refused }, password: refused })).status).toBe(400)
  for (const path of [configs, one, `${one}/versions`, `/orgs/${organization}/audit`]) {
    expect((await call('GET', path)).status).toBe(200)
  }

  const channel = { name: 'Night', kind: 'slack', url: `https://chat.invalid/${hook}` }
  const chat = await call('POST', `/orgs/${organization}/chat-channels`, channel, key)
  expect(chat.status).toBe(201)
  const chatPath = `/orgs/${organization}/chat-channels/${chat.body.id}`
  expect((await call('POST', `${chatPath}/test`, {})).status).toBe(202)
  await until('the test has failed', async () => (await call('GET', chatPath)).body.lastTest.state === 'failed')

  const device = await call('POST', '/devices', {
    organizationId: organization,
    serial: 'SN-1',
    name: 'Ferry 1',
    model: 'RX400',
    tags: [],
  })
  const token = (await call('POST', `/devices/${device.body.id}/token`, {})).body.token
  const setVariables = (path: string, variables: unknown) => call('PUT', `${path}/variables`, { variables })
  expect((await setVariables(`/orgs/${organization}`, { apn_login: { $secret: apn } })).status).toBe(200)
  expect((await setVariables(`/devices/${device.body.id}`, { vpn_token: vpn })).status).toBe(200)
  expect((await setVariables(`/devices/${device.body.id}`, { vpn_token: { $var: refused } })).status).toBe(400)
  const batch = await call('POST', `${one}/apply`, { deviceIds: [device.body.id] }, randomUUID())
  expect(batch.status).toBe(202)
  // A job keeps the values of its creation.
  expect((await setVariables(`/devices/${device.body.id}`, { vpn_token: later })).status).toBe(200)
  const preview = await call('GET', `/devices/${device.body.id}/config?profileId=${created.body.id}`)
  expect(preview.body).toMatchObject({ missingVariables: [], settings: { vpn: { $secret: { set: true } } } })
  const router = deviceCalls(service.url, token)
  const taken = await until('the job', async () => {
    const answer = await router.next(5)
    return answer.status === 200 && answer.body
  })
  const told = JSON.stringify(taken)
  for (const secret of [wifi, psk, pin, `"vpn":"${vpn}"`, `"login":"Ferry 1/${apn}"`]) expect(told).toContain(secret)
  expect((await router.report(taken.id, { attempt: taken.attempt, status: 'succeeded' })).status).toBe(200)
  const config = JSON.stringify((await router.call('GET', '/device/config')).body)
  for (const secret of [wifi, vpn, apn]) expect(config).toContain(secret)
  await call('GET', `/orgs/${organization}/jobs`)
  await call('GET', `/orgs/${organization}/jobs/${taken.id}`)

  const places = {
    answers: answers.join('\n'),
    database: await dump(),
    logs: service.output(),
  }
  expect(places.answers).toContain('depot-2')
  expect(places.database).toContain('depot-2')
  expect(places.logs).toContain('/orgs/:orgId/configs')
  for (const [place, text] of Object.entries(places)) {
    for (const secret of [wifi, psk, pin, vpn, apn, later, refused, hook].flatMap(spellings)) {
      expect(text.includes(secret), `a secret in ${place}`).toBe(false)
    }
  }
})

test('after a rotation of the master secret the new one opens every profile and the old one none', async () => {
  const organizationId = (await call('POST', '/orgs', { name: 'Night buses', plan: 'pro' })).body.id
  const { body } = await call('POST', `/orgs/${organizationId}/configs`, { name: 'Depot', settings: { pin: '1234' } })
  const next = 'another master secret, just as long as the first'
  const rotate = () =>
    runCommand('apps/control-plane/rotate-secrets-key.ts', {
      POSTGRES_URL: service.databaseUrl,
      CONFIG_SECRETS_KEY: next,
      CONFIG_SECRETS_KEY_PREVIOUS: masterSecret,
    })
  expect(await rotate()).toMatch(/Wrapped [1-9]\d* data keys/)
  expect(await rotate()).toMatch('Wrapped 0 data keys')
  const place = { organizationId, profileId: body.id, version: 1, variables: null }
  const revealWith = (...masters: string[]) => {
    const [current = '', previous] = masters
    const keyring = createKeyring(new Secret(current), previous === undefined ? undefined : new Secret(previous))
    return revealSettings({ pool: service.pool, keyring }, place)
  }
  const revealed = { settings: { pin: '1234' }, secrets: ['/pin'] }
  expect(await revealWith(next)).toMatchObject(revealed)
  expect(await revealWith(masterSecret, next)).toMatchObject(revealed)
  await expect(revealWith(masterSecret)).rejects.toThrow('not configured')
})
