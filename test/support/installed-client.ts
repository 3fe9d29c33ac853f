import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const repository = join(import.meta.dirname, '../..')
// The dependencies of the package. They are packed too, so that the installation needs no registry.
const dependencies = ['commander', 'openapi-fetch', 'openapi-typescript-helpers']

export type InstalledClient = {
  /** An otherwise empty project that depends on the package. */
  folder: string
  /** The environment with the command `routerfleet` on the PATH, and without profiles. */
  environment: NodeJS.ProcessEnv
  remove(): Promise<void>
}

/** Packs the client as for a registry and installs it into an empty project. */
export async function installClient(): Promise<InstalledClient> {
  const root = await mkdtemp(join(tmpdir(), 'routerfleet-client-'))
  const folder = join(root, 'project')
  const packages = join(root, 'packages')
  await mkdir(folder)
  await mkdir(packages)
  const pack = async (source: string, ...options: string[]) => {
    const args = ['pack', '--silent', '--pack-destination', packages, ...options, source]
    const { stdout } = await run('npm', args, { cwd: repository })
    return join(packages, stdout.trim().split('\n').at(-1) ?? '')
  }
  const files = [await pack('./clients/typescript')]
  for (const name of dependencies) files.push(await pack(`./node_modules/${name}`, '--ignore-scripts'))
  await writeFile(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...files], { cwd: folder })
  const environment = {
    ...process.env,
    PATH: `${join(folder, 'node_modules/.bin')}:${join(repository, 'node_modules/.bin')}:${process.env.PATH}`,
    XDG_CONFIG_HOME: join(root, 'config'),
  }
  return { folder, environment, remove: () => rm(root, { recursive: true, force: true }) }
}
