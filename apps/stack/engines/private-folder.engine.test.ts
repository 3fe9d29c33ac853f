import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { callAs, systemOwner } from './owner.ts'
import { startPostgres } from './postgres.ts'

const run = promisify(execFile)
const repository = resolve(import.meta.dirname, '../../..')

const needsRootOnLinux =
  process.platform === 'linux' && userInfo().uid === 0 ? null : 'only root on Linux starts Postgres as another user'

// Beside the packages, so that these can be linked instead of copied.
await mkdir(join(repository, '.cache'), { recursive: true })
const privateFolder = await mkdtemp(join(repository, '.cache/private-'))
await chmod(privateFolder, 0o700)
afterAll(() => rm(privateFolder, { recursive: true, force: true }))

const startAndAsk = `
  import pg from 'pg'
  import { startPostgres } from './apps/stack/engines/postgres.ts'
  const engine = await startPostgres({ dir: 'data/postgres', durable: false })
  const client = new pg.Client({ connectionString: engine.url })
  await client.connect()
  const { rows } = await client.query("SELECT 'started in ' || current_setting('data_directory') AS answer")
  await client.end()
  await engine.stop()
  console.log(rows[0].answer)
`

test('Postgres starts for root in a clone that only root can read', { timeout: 180_000 }, async ({ skip }) => {
  skip(needsRootOnLinux !== null, needsRootOnLinux ?? '')
  const clone = join(privateFolder, 'clone')
  await mkdir(clone)
  for (const part of ['apps', 'libs', 'package.json']) {
    await cp(join(repository, part), join(clone, part), { recursive: true })
  }
  await run('cp', ['-al', join(repository, 'node_modules'), clone])
  const node = join(clone, 'node_modules/node/bin/node')
  const { stdout } = await run(node, ['--input-type=module', '--eval', startAndAsk], { cwd: clone })
  expect(stdout.trim()).toBe(`started in ${clone}/data/postgres/cluster`)
})

test('the user of Postgres can pass the data folder of root, and nobody else can', { timeout: 180_000 }, async ({
  skip,
}) => {
  skip(needsRootOnLinux !== null, needsRootOnLinux ?? '')
  const data = join(privateFolder, 'data')
  await mkdir(data, { mode: 0o700 })
  const engine = await startPostgres({ dir: join(data, 'postgres'), durable: false })
  await engine.stop()
  const { gid } = await systemOwner()
  for (const folder of [data, join(data, 'postgres')]) {
    expect(await stat(folder), folder).toMatchObject({ uid: 0, gid, mode: 0o40_710 })
  }
  expect((await stat(join(data, 'postgres/cluster'))).mode & 0o777).toBe(0o700)
})

test('without setpriv, the error is one sentence that says what to do', async ({ skip }) => {
  skip(needsRootOnLinux !== null, needsRootOnLinux ?? '')
  const path = process.env.PATH
  const owner = await systemOwner()
  process.env.PATH = '/nowhere'
  try {
    await expect(callAs(owner, join(privateFolder, 'postgres'), [], [])).rejects.toThrow(
      /^Postgres runs as the system user "postgres", who cannot enter .*: install setpriv .* or set POSTGRES_URL\.$/,
    )
  } finally {
    process.env.PATH = path
  }
})
