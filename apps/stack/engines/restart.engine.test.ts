import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { startPostgres } from './postgres.ts'
import { questdbJar } from './questdb-program.ts'

const dir = await mkdtemp(join(tmpdir(), 'routerfleet-restart-'))
afterAll(() => rm(dir, { recursive: true, force: true }))

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(sql)
  await client.end()
  return rows
}

test('a killed Postgres restarts with its data, even if another process has the id in its lock file', async () => {
  const folder = join(dir, 'postgres')
  const first = await startPostgres({ dir: folder })
  await query(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
  process.kill(first.pid, 'SIGKILL')
  expect(await first.exited).toBe('was ended by SIGKILL')

  const lock = join(folder, 'cluster/postmaster.pid')
  const left = await readFile(lock, 'utf8')
  await writeFile(lock, left.replace(/^\d+/, String(process.pid)))

  const second = await startPostgres({ dir: folder, port: first.port })
  expect(second.url).toBe(first.url)
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
  await second.stop()
  expect(await second.exited).toBe('ended with code 0')
})

test('Postgres starts when the last process of a killed one releases its memory', async () => {
  const folder = join(dir, 'postgres')
  const first = await startPostgres({ dir: folder })
  const session = new pg.Client({ connectionString: first.url })
  session.on('error', () => {})
  await session.connect()
  const { rows } = await session.query('SELECT pg_backend_pid() AS pid')
  // A suspended process does not notice that its Postgres has ended.
  process.kill(rows[0].pid, 'SIGSTOP')
  process.kill(first.pid, 'SIGKILL')
  await first.exited

  const starting = startPostgres({ dir: folder })
  const log = () => readFile(join(folder, 'server.log'), 'utf8')
  await expect.poll(log).toContain('pre-existing shared memory block')
  process.kill(rows[0].pid, 'SIGCONT')
  const second = await starting
  expect(await query(second.url, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
  await second.stop()
})

test('Postgres listens on loopback only and requires its password', async () => {
  const engine = await startPostgres({ dir: join(dir, 'postgres') })
  expect(await query(engine.url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
  await expect(query(engine.url.replace(/:[0-9a-f]{64}@/, ':wrong@'), 'SELECT 1')).rejects.toThrow('password')
  await engine.stop()
})

test('a start can be aborted', async () => {
  const signal = AbortSignal.abort()
  await expect(startPostgres({ dir: join(dir, 'postgres'), signal })).rejects.toThrow(
    'Postgres was stopped while starting.',
  )
})

test('a damaged QuestDB jar is replaced with the published one', { timeout: 120_000 }, async () => {
  await writeFile(join(dir, 'questdb-9.3.4.jar'), 'half a download')
  const jar = await questdbJar(dir)
  const digest = createHash('sha256')
    .update(await readFile(jar))
    .digest('hex')
  expect(digest).toBe('939bc53ab22f93dbaa6545143a6e7c536d4904c07b7f2d381e8eef10436be062')
})
