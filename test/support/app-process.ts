import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../apps/stack/engines/process.ts'
import { childEnvironment } from './child-environment.ts'
import { until } from './until.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))

export type AppProcess = {
  url: string
  /** The output of the process on stdout and stderr. */
  output(): string
  stop(): Promise<void>
  /** Ends the process without a graceful stop. */
  kill(): Promise<void>
}

/** Starts an app of the service as a separate process on a free port. Resolves when it responds. */
export async function startAppProcess(
  script: string,
  environment: Record<string, string | undefined>,
): Promise<AppProcess> {
  const port = await freePort()
  const child = spawn(node, [script], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...childEnvironment, HOST: '127.0.0.1', PORT: String(port), ...environment },
  })
  let output = ''
  const collect = (text: string) => {
    output += text
  }
  child.stdout?.setEncoding('utf8').on('data', collect)
  child.stderr?.setEncoding('utf8').on('data', collect)
  const gone = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  await until(
    `${script} answers`,
    async () => {
      if (child.exitCode !== null) throw new Error(`${script} ended with code ${child.exitCode}: ${output}`)
      return fetch(`${url}/livez`).then(
        (answer) => answer.ok,
        () => false,
      )
    },
    90_000,
  )
  return {
    url,
    output: () => output,
    async stop() {
      child.kill('SIGTERM')
      await gone
    },
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** Runs a command of the service and returns its output. Throws if the command fails. */
export async function runCommand(
  script: string,
  environment: Record<string, string | undefined>,
  args: readonly string[] = [],
): Promise<string> {
  const child = spawn(node, [script, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...childEnvironment, ...environment },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${script} ended with code ${code}: ${output}`)
  return output
}
