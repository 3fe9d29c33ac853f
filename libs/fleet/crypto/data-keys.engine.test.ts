import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { Secret } from '#core/secret'
import { insertOrganization } from '#fleet/organizations/organizations'
import { type OwnedPool, openPool } from '#postgres/pool'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { dataKeyOf } from './data-keys.ts'
import { createKeyring } from './keyring.ts'

const keyring = createKeyring(new Secret('a master secret for tests, long enough'))
let database: TestDatabase
let pool: OwnedPool
beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'data-keys.test' })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const newOrganization = async () => (await insertOrganization(pool, 'Harbour ferries', 'pro')).id

test('a ciphertext can be decrypted only at its own place', async () => {
  const organizationId = await newOrganization()
  const key = await dataKeyOf(pool, keyring, organizationId)
  const place = ['profile', newId(), 1, '/wifi/password']
  const sealed = key.seal('correct horse', place)
  expect(sealed.includes('correct horse')).toBe(false)
  expect(key.open(sealed, place)).toBe('correct horse')
  expect(key.seal('correct horse', place)).not.toEqual(sealed)
  for (const [index] of place.entries()) {
    const elsewhere = place.map((part, at) => (at === index ? 'other' : part))
    expect(() => key.open(sealed, elsewhere)).toThrow()
  }
  const altered = Buffer.from(sealed)
  altered[20] = (altered[20] ?? 0) ^ 1
  expect(() => key.open(altered, place)).toThrow()
})

test('organizations cannot decrypt the secrets of others, even with their wrapped key', async () => {
  const [own, other] = [await newOrganization(), await newOrganization()]
  const sealed = (await dataKeyOf(pool, keyring, own)).seal('correct horse', ['a'])
  const otherKey = await dataKeyOf(pool, keyring, other)
  expect(() => otherKey.open(sealed, ['a'])).toThrow()
  await pool.query(
    `UPDATE organization_data_key SET wrapped_key = (SELECT wrapped_key FROM organization_data_key WHERE organization_id = $1)
     WHERE organization_id = $2`,
    [own, other],
  )
  await expect(dataKeyOf(pool, keyring, other)).rejects.toThrow()
})

test('concurrent first writers use the same key', async () => {
  const organizationId = await newOrganization()
  const keys = await Promise.all(Array.from({ length: 6 }, () => dataKeyOf(pool, keyring, organizationId)))
  const sealed = keys.map((key) => key.seal('correct horse', ['a']))
  for (const key of keys) for (const text of sealed) expect(key.open(text, ['a'])).toBe('correct horse')
})
