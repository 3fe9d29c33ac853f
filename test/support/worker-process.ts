import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../apps/stack/engines/process.ts'
import { childEnvironment } from './child-environment.ts'
import { masterSecret } from './ingest-process.ts'
import { until } from './until.ts'

const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const entry = fileURLToPath(new URL('../../apps/worker/main.ts', import.meta.url))

export type WorkerProcess = { url: string; output(): string; end(signal: NodeJS.Signals): Promise<number | null> }

/** Starts the worker as a separate process. Resolves when it is live. Its tasks in tests do not need QuestDB. */
export async function startWorkerProcess(
  place: { postgresUrl: string; redisUrl?: string | undefined },
  environment: Record<string, string> = {},
): Promise<WorkerProcess> {
  const port = await freePort()
  const child = spawn(node, [entry], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...childEnvironment,
      PORT: String(port),
      POSTGRES_URL: place.postgresUrl,
      ...(place.redisUrl === undefined ? {} : { REDIS_URL: place.redisUrl }),
      QUESTDB_PG_URL: 'postgresql://127.0.0.1:9/qdb',
      CONFIG_SECRETS_KEY: masterSecret,
      LOG_LEVEL: 'error',
      ...environment,
    },
  })
  let output = ''
  const collect = (text: string) => {
    output += text
  }
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', collect)
  const gone = once(child, 'exit') as Promise<[number | null]>
  const url = `http://127.0.0.1:${port}`
  await until(`the worker answers at ${url}`, async () => {
    if (child.exitCode !== null) throw new Error(`The worker ended with code ${child.exitCode}: ${output}`)
    return fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    )
  })
  return {
    url,
    output: () => output,
    async end(signal) {
      child.kill(signal)
      const [code] = await gone
      return code
    },
  }
}
