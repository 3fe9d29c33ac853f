import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../apps/stack/engines/process.ts'
import { childEnvironment } from './child-environment.ts'
import type { QuestdbConnection } from './engines.ts'
import { until } from './until.ts'

const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const entry = fileURLToPath(new URL('../../apps/ingest/main.ts', import.meta.url))

/** The master secret of all test processes. */
export const masterSecret = 'a master secret for tests, long enough'

const startLimitMs = 60_000

export type IngestProcess = {
  url: string
  pid: number
  /** The output of the process on stdout and stderr. */
  output(): string
  /** Sends the signal and waits until the process exits. Returns its exit code, or null if a signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

export type IngestPlace = {
  postgresUrl: string
  questdb: QuestdbConnection
  logDir: string
  /** If set, restarts use the same folder. */
  port?: number
  environment?: Record<string, string>
}

/** Starts ingest as a separate process. Resolves when it accepts requests. */
export async function startIngestProcess(place: IngestPlace): Promise<IngestProcess> {
  const port = place.port ?? (await freePort())
  const child = spawn(node, [entry], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...childEnvironment,
      HOST: '127.0.0.1',
      PORT: String(port),
      POSTGRES_URL: place.postgresUrl,
      QUESTDB_URL: place.questdb.httpUrl,
      QUESTDB_PG_URL: place.questdb.pgUrl,
      QUESTDB_USER: place.questdb.user,
      QUESTDB_PASSWORD: place.questdb.password,
      LOG_DIR: place.logDir,
      LOG_LEVEL: 'warn',
      CONFIG_SECRETS_KEY: masterSecret,
      ...place.environment,
    },
  })
  let output = ''
  const collect = (text: string) => {
    output += text
  }
  child.stdout?.setEncoding('utf8').on('data', collect)
  child.stderr?.setEncoding('utf8').on('data', collect)
  const url = `http://127.0.0.1:${port}`
  const gone = once(child, 'exit') as Promise<[number | null]>
  await until(
    `ingest answers at ${url}`,
    async () => {
      if (child.exitCode !== null) throw new Error(`Ingest ended with code ${child.exitCode}: ${output}`)
      return fetch(`${url}/livez`).then(
        (answer) => answer.ok,
        () => false,
      )
    },
    startLimitMs,
  )
  return {
    url,
    pid: child.pid ?? 0,
    output: () => output,
    async end(signal) {
      child.kill(signal)
      const [code] = await gone
      return code
    },
  }
}
