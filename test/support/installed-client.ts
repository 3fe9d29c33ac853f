import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const repository = join(import.meta.dirname, '../..')
// The dependencies of the package. They are packed too, so that the installation needs no registry.
const dependencies = ['commander', 'openapi-fetch', 'openapi-typescript-helpers']
const optionalDependencies = ['@modelcontextprotocol/sdk', 'zod']

export type InstalledClient = {
  /** An otherwise empty project that depends on the package. */
  folder: string
  /** The environment with the command `routerfleet` on the PATH, and without profiles. */
  environment: NodeJS.ProcessEnv
  /** Adds the optional dependencies of the package, as links to those of the repository. */
  linkOptional(): Promise<void>
  remove(): Promise<void>
}

/** Packs the client as for a registry and installs it into an empty project. */
export async function installClient(): Promise<InstalledClient> {
  const root = await mkdtemp(join(tmpdir(), 'routerfleet-client-'))
  const folder = join(root, 'project')
  const packages = join(root, 'packages')
  await mkdir(folder)
  await mkdir(packages)
  const source = await copySource(join(root, 'source'))
  const pack = async (paths: readonly string[], ...options: string[]) => {
    const args = ['pack', '--silent', '--pack-destination', packages, ...options, ...paths]
    const { stdout } = await run('npm', args, { cwd: source })
    return stdout.trim().split('\n')
  }
  const built = await pack(['./clients/typescript'])
  const paths = dependencies.map((name) => `./node_modules/${name}`)
  const files = [...built, ...(await pack(paths, '--ignore-scripts'))].map((name) => join(packages, name))
  await writeFile(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  const options = ['--offline', '--omit=optional', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, ...files], { cwd: folder })
  const environment = {
    ...process.env,
    PATH: `${join(folder, 'node_modules/.bin')}:${join(repository, 'node_modules/.bin')}:${process.env.PATH}`,
    XDG_CONFIG_HOME: join(root, 'config'),
  }
  return {
    folder,
    environment,
    linkOptional: () => linkOptional(folder),
    remove: () => rm(root, { recursive: true, force: true }),
  }
}

async function linkOptional(folder: string): Promise<void> {
  for (const name of optionalDependencies) {
    const link = join(folder, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(repository, 'node_modules', name), link)
  }
}

/** A file of an earlier build, which must not be packed. */
export const leftOverFile = 'dist/left-over.js'

/** Copies the package, because tests that build it in the same folder would pack unfinished files of each other. */
async function copySource(root: string): Promise<string> {
  const client = join('clients', 'typescript')
  const isSource = (path: string) => basename(path) !== 'dist'
  await cp(join(repository, client), join(root, client), { recursive: true, filter: isSource })
  await mkdir(join(root, client, 'dist'))
  await writeFile(join(root, client, leftOverFile), '')
  await cp(join(repository, 'tsconfig.json'), join(root, 'tsconfig.json'))
  await symlink(join(repository, 'node_modules'), join(root, 'node_modules'))
  return root
}
