import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { parseConfig } from '#core/config'
import { newId } from '#core/ids'
import { insertOrganization } from '#fleet/organizations/organizations'
import { tenantTransaction } from '#fleet/tenant'
import { migrate } from '#postgres/migrate'
import { openPool } from '#postgres/pool'
import { configSchema as controlPlaneSchema } from '../../apps/control-plane/config.ts'
import { configSchema as ingestSchema, proxyHopsOf } from '../../apps/ingest/config.ts'
import { questdbTuning } from '../../apps/stack/engines/questdb-tuning.ts'

const repository = join(import.meta.dirname, '../..')
const compose = readFileSync(join(repository, 'docker-compose.yml'), 'utf8')

/** Returns the value of a variable in the file, with `${NAME:-default}` and `${NAME:?message}` substituted. */
function environmentValue(variable: string): string {
  const value = new RegExp(`^ +${variable}: (.+)$`, 'm').exec(compose)?.[1] ?? ''
  return value.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name, kind, word) =>
    kind === '-' ? word : `value-of-${name}`,
  )
}

/** Returns the lines of one service. */
function service(name: string): string {
  const [, found = ''] = new RegExp(`^  ${name}:\\n((?: {4}.*\\n|\\n)+)`, 'm').exec(compose) ?? []
  return found
}

test('each secret is required once and listed in the header', () => {
  const required = [...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name)
  expect(new Set(required).size).toBe(required.length)
  const top = compose.slice(0, compose.indexOf('\nname:'))
  for (const name of required) expect(top).toContain(name)
  const used = [...compose.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name)
  expect(required).toEqual(expect.arrayContaining(used))
})

test('the image is built without files of secrets', () => {
  const ignored = readFileSync(join(repository, '.dockerignore'), 'utf8').split('\n')
  // `.env` of Docker Compose, the data of `npm start`, and the state of the agent and of its fleet.
  expect(ignored).toEqual(
    expect.arrayContaining(['.env', '.env.*', '**/.env', '**/.env.*', '.data', '.agent', '.fleet', 'backups']),
  )
})

test('ingest trusts one more proxy than the control plane', () => {
  expect(service('control-plane')).not.toContain('PROXY_HOPS')
  expect(service('ingest')).not.toContain('PROXY_HOPS')
  const environment = { TRUSTED_PROXY_HOPS: environmentValue('TRUSTED_PROXY_HOPS') }
  const ofControlPlane = parseConfig(controlPlaneSchema.pick({ TRUSTED_PROXY_HOPS: true }), environment)
  const ofIngest = parseConfig(ingestSchema.pick({ TRUSTED_PROXY_HOPS: true, INGEST_PROXY_HOPS: true }), environment)
  expect(ofControlPlane.TRUSTED_PROXY_HOPS).toBe(1)
  expect(proxyHopsOf(ofIngest)).toBe(2)
})

test('QuestDB has the settings of the embedded one', () => {
  const settings = [...service('questdb').matchAll(/^ +(QDB_\w+): '(.+)'$/gm)].map(([, name, value]) => [name, value])
  expect(Object.fromEntries(settings)).toEqual(questdbTuning)
})

test('Redis requires the password of the services', () => {
  const { password } = new URL(environmentValue('REDIS_URL'))
  expect(password).toBe('value-of-REDIS_PASSWORD')
  expect(service('redis')).toMatch(/command: \[.*--requirepass, '\$\{REDIS_PASSWORD\}'/)
})

test('the services connect to Postgres as a separate role, not as the superuser', () => {
  const { username, password } = new URL(environmentValue('POSTGRES_URL'))
  expect(environmentValue('POSTGRES_USER')).toBe('postgres')
  expect(environmentValue('POSTGRES_PASSWORD')).toBe('value-of-POSTGRES_SUPERUSER_PASSWORD')
  expect([username, password]).toEqual(['routerfleet', environmentValue('ROUTERFLEET_PASSWORD')])
  const [, script = ''] = /- \.\/(\S+):\/docker-entrypoint-initdb\.d\//.exec(service('postgres')) ?? []
  expect(existsSync(join(repository, script))).toBe(true)
})

/** Returns the statements of the psql script, with names and a password that no other test uses. */
function roleStatements(role: string, password: string): string[] {
  return readFileSync(join(repository, 'docker/postgres-roles.sql'), 'utf8')
    .replaceAll(/^(?:--|\\).*$/gm, '')
    .replaceAll(/routerfleet(?!_)/g, role)
    .replaceAll(/routerfleet_tenant/g, `${role}_tenant`)
    .replaceAll(":'password'", pg.escapeLiteral(password))
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
}

test('the role of the services is not a superuser and is subject to row-level security', async () => {
  const role = `app_${randomBytes(6).toString('hex')}`
  const url = new URL(inject('postgresUrl'))
  const superuser = new pg.Client({ connectionString: url.href })
  await superuser.connect()
  for (const statement of roleStatements(role, 'secret')) await superuser.query(statement)
  // Roles belong to the cluster, which already has the tenant role, as in an installation with a second database.
  await superuser.query(`GRANT routerfleet_tenant TO ${role}`)
  Object.assign(url, { username: role, password: 'secret', pathname: `/${role}` })
  const pool = openPool(url.href, { applicationName: 'test' })
  try {
    expect((await migrate(url.href)).length).toBeGreaterThan(0)
    const { rows } = await pool.query(
      'SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles WHERE rolname = current_user',
    )
    expect(Object.values(rows[0])).toEqual([false, false, false, false, false])
    const [own, other] = [await insertOrganization(pool, 'Own', 'pro'), await insertOrganization(pool, 'Other', 'pro')]
    const insert = 'INSERT INTO device (id, organization_id, serial, name, model) VALUES ($1, $2, $3, $3, $3)'
    for (const { id } of [own, other]) await pool.query(insert, [newId(), id, 'SN-1'])
    const seen = await tenantTransaction({ pool }, [own.id], (connection) =>
      connection.query('SELECT organization_id FROM device'),
    )
    expect(seen.rows).toEqual([{ organization_id: own.id }])
  } finally {
    await pool.end()
    await superuser.query(`DROP DATABASE IF EXISTS ${role} WITH (FORCE)`)
    await superuser.query(`DROP ROLE IF EXISTS ${role}_tenant, ${role}`)
    await superuser.end()
  }
})
