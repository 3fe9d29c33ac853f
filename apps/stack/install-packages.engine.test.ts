import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const repository = join(import.meta.dirname, '../..')
const root = await mkdtemp(join(tmpdir(), 'routerfleet-install-'))
afterAll(() => rm(root, { recursive: true, force: true }))

/** The home folder of a user with a setting that npm does not know, as many have. */
await writeFile(join(root, '.npmrc'), 'nodedir=/nowhere\n')

const writeJson = (path: string, value: unknown) => writeFile(path, JSON.stringify(value))

/**
 * A clone with the real bootstrap files whose packages are local folders, so that npm needs no network: one is the Node
 * of the product, one supports no Node there is, which npm warns about.
 */
async function makeClone(name: string, dependencies: Record<string, string>): Promise<string> {
  const clone = join(root, name)
  const stack = join(clone, 'apps/stack')
  await mkdir(stack, { recursive: true })
  for (const file of ['bootstrap.mjs', 'install-packages.mjs', 'run-program.mjs']) {
    await cp(join(import.meta.dirname, file), join(stack, file))
  }
  await writeFile(join(stack, 'main.ts'), "console.log('Ready')")
  await mkdir(join(clone, 'parts/node/bin'), { recursive: true })
  await mkdir(join(clone, 'parts/picky'))
  await symlink(process.execPath, join(clone, 'parts/node/bin/node'))
  await writeJson(join(clone, 'parts/node/package.json'), { name: 'node', version: '1.0.0' })
  await writeJson(join(clone, 'parts/picky/package.json'), {
    name: 'picky',
    version: '1.0.0',
    engines: { node: '>=999' },
  })
  const { scripts } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'))
  await writeJson(join(clone, 'package.json'), {
    name: 'clone',
    version: '1.0.0',
    private: true,
    scripts,
    dependencies,
  })
  await cp(join(repository, '.npmrc'), join(clone, '.npmrc'))
  return clone
}

async function start(clone: string): Promise<{ code: number; output: string }> {
  const child = spawn('npm', ['start'], {
    cwd: clone,
    env: { PATH: process.env.PATH, HOME: root, npm_config_offline: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

test('a first start prints its own lines and no npm warnings', { timeout: 120_000 }, async () => {
  const clone = await makeClone('good', { node: 'file:parts/node', picky: 'file:parts/picky' })
  const { code, output } = await start(clone)
  const lines = output.split('\n').filter((line) => line !== '' && !line.startsWith('>') && !line.includes('still'))
  expect(lines).toEqual([
    'Installing packages (first start, or the lock file changed) …',
    expect.stringMatching(/^Installed packages in \d+ s\.$/),
    'Ready',
  ])
  expect(code).toBe(0)
})

test('a failed installation prints the messages of npm', { timeout: 120_000 }, async () => {
  const clone = await makeClone('broken', { node: 'file:parts/node', absent: 'file:parts/absent/part.tgz' })
  const { code, output } = await start(clone)
  expect(output).toMatch(/npm error code ENOENT/)
  expect(output).toContain('npm could not install the packages. Its messages are above.')
  expect(output).not.toContain('npm warn')
  expect(code).toBe(1)
})
