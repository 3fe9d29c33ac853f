import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '#core/clock'
import { issueToken } from '#core/tokens'
import type { Queryable } from '#postgres/pool'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { createKeyDirectory } from './key-directory.ts'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane({ TRUSTED_PROXY_HOPS: '1' })
})
afterAll(() => api.close())

/** A directory on the real database, and how many queries it has sent there. */
function openDirectory() {
  let queries = 0
  const { pool, plans } = api.services
  const db = {
    query: (...sent: Parameters<typeof pool.query>) => {
      queries += 1
      return pool.query(...sent)
    },
  } as Queryable
  const keys = createKeyDirectory({ db, plans, clock: systemClock, registry: new Registry() })
  return { keys, queries: () => queries }
}

const unknownTokens = (count: number) => Array.from({ length: count }, () => issueToken('flk').token)

test('a thousand unknown keys cause a few queries, and none when they are repeated', async () => {
  const { keys, queries } = openDirectory()
  const tokens = unknownTokens(1_000)
  const ask = () => Promise.all(tokens.map((token, index) => keys.byToken(token, `192.0.2.${index % 100}`)))
  expect((await ask()).every((found) => found === undefined)).toBe(true)
  const firstQueries = queries()
  expect(firstQueries).toBeLessThanOrEqual(5)
  await ask()
  expect(queries()).toBe(firstQueries)
})

test('an address can have 100 look-ups at a time, which do not delay other addresses', async () => {
  const { keys } = openDirectory()
  const { key } = await api.newOrganization()
  const asked = Promise.allSettled(unknownTokens(150).map((token) => keys.byToken(token, '192.0.2.1')))
  expect((await keys.byToken(key, '192.0.2.2'))?.principal.platform).toBe(false)
  const refused = (await asked).filter((outcome) => outcome.status === 'rejected')
  expect(refused).toHaveLength(50)
  expect(refused[0]?.reason).toMatchObject({ status: 429, headers: { 'Retry-After': '1' } })
  expect(await keys.byToken(key, '192.0.2.1')).toBeDefined()
})

test('a key is looked up once in five seconds, and again after it was forgotten', async () => {
  const { keys, queries } = openDirectory()
  const { key } = await api.newOrganization()
  const found = await Promise.all([keys.byToken(key), keys.byToken(key)])
  expect(found[0]).toBe(found[1])
  await keys.byToken(key)
  expect(queries()).toBe(1)
  keys.forget(found[0]?.id)
  await keys.byToken(key)
  expect(queries()).toBe(2)
})

test('a new key works at once, also from an address with too many failures', async () => {
  const { id, key } = await api.newOrganization()
  const headers = { 'x-forwarded-for': '192.0.2.9' }
  const failures = []
  for (const token of unknownTokens(125)) failures.push((await api.call('GET', '/devices', { token, headers })).status)
  expect([failures[0], failures.at(-1)]).toEqual([401, 429])
  const created = await api.call('POST', `/orgs/${id}/api-keys`, { token: key, json: { name: 'N', role: 'viewer' } })
  expect((await api.call('GET', '/devices', { token: created.body.key, headers })).status).toBe(200)
})
