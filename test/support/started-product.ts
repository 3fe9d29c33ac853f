import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { shortLivedEnvironment } from './short-lived-questdb.ts'
import { until } from './until.ts'

const repository = fileURLToPath(new URL('../../', import.meta.url))
// A small machine that runs other tests may need minutes.
const startLimitMs = 240_000

type Access = { baseUrl: string; adminKey: string; demoKey: string; demoOrganizationId: string }

export type StartedProduct = {
  access: Access
  output(): string
  /** Calls the API and returns the parsed body. Repeats after a 429, and throws for other responses than 2xx. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read answers of many shapes.
  call(method: string, path: string, body?: unknown, key?: string): Promise<any>
  /** Stops the product like Ctrl-C. Returns its exit code. */
  stop(): Promise<number | null>
}

/** Runs `npm start` on a data folder as a separate process. Resolves when it is ready. */
export async function startProduct(
  dataDir: string,
  options: { args?: string[]; environment?: Record<string, string> } = {},
): Promise<StartedProduct> {
  const args = ['apps/stack/bootstrap.mjs', '--port', '0', '--data-dir', dataDir, ...(options.args ?? [])]
  // Tests look at what they create, and the rollouts of the examples would restart their routers.
  const env = { ...process.env, EXAMPLES: 'false', ...shortLivedEnvironment, ...options.environment }
  const child = spawn('node', args, { cwd: repository, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const gone = once(child, 'exit') as Promise<[number | null]>
  await until(
    'the product is ready',
    async () => {
      if (child.exitCode !== null) throw new Error(`The product ended with code ${child.exitCode}: ${output}`)
      return output.includes('Ready: ')
    },
    startLimitMs,
  ).catch(async (error: unknown) => {
    const state = `${output}\n${endsOfLogs(dataDir)}`
    await stop(child, gone)
    throw new Error(`${String(error)}\n${state}`)
  })
  const access: Access = JSON.parse(await readFile(join(dataDir, 'access.json'), 'utf8'))
  return {
    access,
    output: () => output,
    call: (method, path, body, key = access.adminKey) => callApi(access.baseUrl, method, path, body, key),
    stop: () => stop(child, gone),
  }
}

/** Returns the last lines of the log of each part of the product that runs on `dataDir`. */
export function endsOfLogs(dataDir: string): string {
  const logs = globSync(['logs/*.log', '*/server.log'].map((pattern) => join(dataDir, pattern)))
  return logs.map((path) => [path, ...readFileSync(path, 'utf8').trim().split('\n').slice(-20)].join('\n')).join('\n\n')
}

async function stop(child: ChildProcess, gone: Promise<[number | null]>): Promise<number | null> {
  if (child.exitCode === null) child.kill('SIGINT')
  const [code] = await gone
  return code
}

async function callApi(baseUrl: string, method: string, path: string, body: unknown, key: string): Promise<unknown> {
  const response = await fetch(baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.status === 429) {
    await delay(Number(response.headers.get('retry-after')) * 1_000)
    return callApi(baseUrl, method, path, body, key)
  }
  if (!response.ok) throw new Error(`${method} ${path} was answered with ${response.status}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** Ends the processes whose command line contains `folder`, which a failed test may leave behind. Linux only. */
export function killProcessesOn(folder: string): void {
  for (const path of globSync('/proc/[0-9]*')) {
    const pid = Number(basename(path))
    if (pid !== process.pid && commandLineIn(path).includes(folder)) process.kill(pid, 'SIGKILL')
  }
}

function commandLineIn(path: string): string {
  try {
    return readFileSync(join(path, 'cmdline'), 'utf8')
  } catch {
    return ''
  }
}
