import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPool } from '#postgres/pool'
import { testTls } from '#test/tls'
import { until } from '#test/until'
import { systemOwner } from '../../apps/stack/engines/owner.ts'
import { type PostgresEngine, startPostgres } from '../../apps/stack/engines/postgres.ts'

let dir: string
let engine: PostgresEngine

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'routerfleet-tls-'))
  await chmod(dir, 0o711)
  engine = await startPostgres({ dir, durable: false })
  const { uid, gid } = await systemOwner()
  for (const [name, text] of Object.entries({ 'server.crt': testTls.cert, 'server.key': testTls.key })) {
    const path = join(dir, 'cluster', name)
    await writeFile(path, text, { mode: 0o600 })
    await chown(path, uid, gid)
  }
  await writeFile(join(dir, 'ca.crt'), testTls.cert)
  const pool = openPool(engine.url, { applicationName: 'test', maxConnections: 1 })
  await pool.query('ALTER SYSTEM SET ssl = on')
  await pool.query('SELECT pg_reload_conf()')
  const isOn = async () => (await pool.query<{ ssl: string }>('SHOW ssl')).rows[0]?.ssl === 'on'
  await until('TLS is on', isOn)
  await pool.end()
}, 120_000)
afterAll(async () => {
  await engine?.stop()
  await rm(dir, { recursive: true, force: true })
})

/** The certificate is valid for localhost and 127.0.0.1. No server listens on 127.0.0.2 and 127.0.0.3. */
function urlWith(hosts: readonly string[]): string {
  const url = new URL(engine.url)
  const list = hosts.map((host) => `${host}:${engine.port}`).join(',')
  return `${url.href.replace(url.host, list)}?sslmode=verify-full&sslrootcert=${join(dir, 'ca.crt')}`
}

test('a certificate may name any of the hosts', async () => {
  const pool = openPool(urlWith(['127.0.0.2', 'localhost', '127.0.0.3']), { applicationName: 'test' })
  const { rows } = await pool.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
  expect(rows).toEqual([{ ssl: true }])
  await pool.end()
})

test('an unavailable list of hosts names the reason of each', async () => {
  const pool = openPool(urlWith(['127.0.0.2', '127.0.0.3']), { applicationName: 'test' })
  await expect(pool.query('SELECT 1')).rejects.toMatchObject({
    code: '08001',
    message: expect.stringMatching(/^No Postgres server is a primary: .*127\.0\.0\.2.*127\.0\.0\.3/),
  })
  await pool.end()
})

test('wrong credentials are reported if all hosts refuse them', async () => {
  const url = urlWith(['localhost', '127.0.0.1']).replace(/:[^:@]+@/, ':wrong@')
  const pool = openPool(url, { applicationName: 'test' })
  await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: '28P01' })
  await pool.end()
})
