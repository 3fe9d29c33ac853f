import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { childEnvironment } from './child-environment.ts'
import { shortLivedEnvironment } from './short-lived-questdb.ts'
import { until } from './until.ts'

const repository = join(import.meta.dirname, '../..')
const startLimitMs = 180_000

/** Set this variable to 1 to run the suites that start the whole service on `npm start -- --cluster`. */
export const isOnCluster = process.env.ROUTERFLEET_TEST_CLUSTER === '1'

export type Access = { baseUrl: string; adminKey: string; demoKey: string; demoOrganizationId: string }

/** The product, as the start command runs it on a temporary data folder. */
export type ProductProcess = {
  access: Access
  folder: string
  /** What the start command printed. */
  output(): string
  /** The logs of all apps. */
  logs(): string
  /** The process id of a part, such as `ingest` or `ingest-2`. 0 while it does not run. */
  pidOf(part: string): number
  /** Stops the product and removes its data. Returns the exit code. */
  stop(): Promise<number | null>
}

/** Runs the start command with these options on a free port. Resolves when the product is ready. */
export async function startProductProcess(
  options: readonly string[],
  environment: Record<string, string> = {},
): Promise<ProductProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-product-'))
  // Postgres does not run as root: its user must be able to enter this folder.
  await chmod(folder, 0o711)
  const args = ['apps/stack/bootstrap.mjs', '--port', '0', '--data-dir', folder, ...options]
  // Tests look at what they create, and the rollouts of the examples would restart their routers.
  const env = { ...process.env, ...childEnvironment, EXAMPLES: 'false', ...shortLivedEnvironment, ...environment }
  const child = spawn('node', args, { cwd: repository, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const gone = once(child, 'exit') as Promise<[number | null]>
  const stop = async () => {
    child.kill('SIGTERM')
    const [code] = await gone
    await rm(folder, { recursive: true, force: true })
    return code
  }
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`The product exited with code ${child.exitCode}: ${output}`)
    return output.includes('Ready: ')
  }
  const logsFolder = join(folder, 'logs')
  const logs = () =>
    readdirSync(logsFolder)
      .map((name) => readFileSync(join(logsFolder, name), 'utf8'))
      .join('\n')
  try {
    await until('the product is ready', isReady, startLimitMs)
    const access = JSON.parse(await readFile(join(folder, 'access.json'), 'utf8')) as Access
    return {
      access: { ...access, baseUrl: access.baseUrl.replace(/\/$/, '') },
      folder,
      output: () => output,
      logs,
      pidOf: (part) => pidIn(join(folder, 'run', part)),
      stop,
    }
  } catch (cause) {
    const printed = `${output}\n${existsSync(logsFolder) ? lastLines(logs(), 60) : 'There are no logs.'}`
    await stop()
    throw new Error(`The product did not start. It printed:\n${printed}`, { cause })
  }
}

const lastLines = (text: string, count: number) => text.trimEnd().split('\n').slice(-count).join('\n')
const pidIn = (path: string) => (existsSync(path) ? Number.parseInt(readFileSync(path, 'utf8'), 10) || 0 : 0)
