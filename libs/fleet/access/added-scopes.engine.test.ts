import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { newId } from '#core/ids'
import { listMigrations, migrate } from '#postgres/migrate'
import { type RoleName, type Scope, scopesOfRole } from './scopes.ts'

const name = `added_scopes_${randomBytes(6).toString('hex')}`
let server: pg.Client
let database: pg.Client
let url: string
beforeAll(async () => {
  const serverUrl = new URL(inject('postgresUrl'))
  server = new pg.Client({ connectionString: serverUrl.href })
  await server.connect()
  await server.query(`CREATE DATABASE ${name}`)
  serverUrl.pathname = `/${name}`
  url = serverUrl.href
  database = new pg.Client({ connectionString: url })
  await database.connect()
})
afterAll(async () => {
  await database.end()
  await server.query(`DROP DATABASE ${name} WITH (FORCE)`)
  await server.end()
})

const added: readonly Scope[] = ['place:write', 'alert:read', 'alert:acknowledge', 'alert:write']
const before = (scopes: readonly Scope[]) => scopes.filter((scope) => !added.includes(scope))

test('keys that were created for a role receive its new scopes, other keys do not', async () => {
  const all = await listMigrations()
  await migrate(
    url,
    all.filter((migration) => migration < '0040'),
  )
  const organizationId = newId()
  await database.query("INSERT INTO organization (id, name, plan) VALUES ($1, 'Fleet', 'pro')", [organizationId])
  const addKey = async (id: string, scopes: readonly Scope[]) => {
    await database.query(
      `INSERT INTO api_key (id, organization_id, name, token_hash, created_by) VALUES ($1, $2, $1, convert_to($1, 'UTF8'), 'test')`,
      [id, organizationId],
    )
    await database.query('INSERT INTO api_key_grant (api_key_id, organization_id, scopes) VALUES ($1, $2, $3)', [
      id,
      organizationId,
      scopes,
    ])
  }
  const roles: RoleName[] = ['viewer', 'operator', 'admin']
  for (const role of roles) await addKey(role, before(scopesOfRole[role]))
  await addKey('limited', ['device:read', 'fleet:read'])
  await migrate(url)
  const { rows } = await database.query<{ api_key_id: string; scopes: Scope[] }>(
    'SELECT api_key_id, scopes FROM api_key_grant',
  )
  const held = Object.fromEntries(rows.map(({ api_key_id, scopes }) => [api_key_id, [...scopes].sort()]))
  expect(held).toEqual({
    ...Object.fromEntries(roles.map((role) => [role, [...scopesOfRole[role]].sort()])),
    limited: ['device:read', 'fleet:read'],
  })
})
