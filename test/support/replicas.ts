import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { childEnvironment } from './child-environment.ts'
import { until } from './until.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const node = join(repository, 'node_modules/.bin/node')

/** The source of a version. `remove` deletes a copy. */
export type Version = { root: string; remove(): Promise<void> }

export const thisVersion: Version = { root: repository, remove: async () => {} }

/** Copies this version and adds a migration, as the next version would have one. */
export async function nextVersion(migration: { name: string; sql: string }): Promise<Version> {
  const root = await mkdtemp(join(tmpdir(), 'routerfleet-next-'))
  await mkdir(join(root, 'apps'))
  for (const app of ['control-plane', 'ingest', 'worker', 'stack'])
    await cp(join(repository, 'apps', app), join(root, 'apps', app), { recursive: true })
  await cp(join(repository, 'libs'), join(root, 'libs'), { recursive: true })
  await cp(join(repository, 'package.json'), join(root, 'package.json'))
  await symlink(join(repository, 'node_modules'), join(root, 'node_modules'))
  await writeFile(join(root, 'libs/postgres/migrations', migration.name), migration.sql)
  return { root, remove: () => rm(root, { recursive: true, force: true }) }
}

export type Replica = { url: string; output(): string; stop(): Promise<void> }

export type ReplicaOptions = { script: string; port: number; environment: Record<string, string | undefined> }

/** Starts an app of a version as a separate process. Resolves when it is ready for requests. */
export async function startReplica({ root }: Version, { script, port, environment }: ReplicaOptions): Promise<Replica> {
  const child = spawn(node, [join(root, script)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...childEnvironment, HOST: '127.0.0.1', PORT: String(port), ...environment },
  })
  const output = collectOutput(child)
  const gone = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`${script} ended with code ${child.exitCode}: ${output()}`)
    return fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  await until(`${script} is ready`, isReady, 180_000)
  return {
    url,
    output,
    async stop() {
      child.kill('SIGTERM')
      await gone
    },
  }
}

/** Runs a command of a version, and returns its output. Throws if it fails. */
export async function runScript(
  { root }: Version,
  script: string,
  environment: Record<string, string | undefined>,
): Promise<string> {
  const child = spawn(node, [join(root, script)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...childEnvironment, ...environment },
  })
  const output = collectOutput(child)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${script} ended with code ${code}: ${output()}`)
  return output()
}

function collectOutput(child: ChildProcess): () => string {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text))
  return () => output
}
