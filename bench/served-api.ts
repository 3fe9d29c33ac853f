import { fork } from 'node:child_process'
import { Agent, get as httpGet, type IncomingHttpHeaders } from 'node:http'
import { fileURLToPath } from 'node:url'
import { issueToken } from '#core/tokens'
import { freePort } from '../apps/stack/engines/process.ts'
import { stopChild } from './processes.ts'
import type { BenchStack } from './stack.ts'

/** An answer as it came over the wire: still compressed, so that reading it costs the client next to nothing. */
export type WireAnswer = { status: number; headers: IncomingHttpHeaders; bytes: Buffer }

/** The control plane as a process of its own, and a key that may read everything. */
export type ServedApi = {
  pid: number
  /** Throws on anything but 2xx and 304. */
  get(path: string, headers?: Record<string, string>): Promise<WireAnswer>
  close(): Promise<void>
}

const startLimitMs = 60_000

export async function serveApi(stack: BenchStack, ingestPort = 9): Promise<ServedApi> {
  const port = await freePort()
  const child = fork(fileURLToPath(new URL('../apps/control-plane/main.ts', import.meta.url)), {
    env: {
      ...process.env,
      ...stack.environment,
      PORT: String(port),
      INGEST_URL: `http://127.0.0.1:${ingestPort}`,
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const issued = issueToken('flk')
  await stack.pool.query(
    "INSERT INTO api_key (id, name, token_hash, platform, created_by) VALUES ($1, 'bench', $2, true, 'bench')",
    [issued.id, issued.hash],
  )
  const agent = new Agent({ keepAlive: true })
  const authorization = `Bearer ${issued.token}`
  const get: ServedApi['get'] = (path, headers = {}) =>
    new Promise((resolve, reject) => {
      const request = httpGet({ host: '127.0.0.1', port, path, agent, headers: { authorization, ...headers } })
      request.once('error', reject)
      request.once('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.once('error', reject)
        response.once('end', () => {
          const { statusCode: status = 0 } = response
          const bytes = Buffer.concat(chunks)
          if (status === 304 || (status >= 200 && status < 300)) resolve({ status, headers: response.headers, bytes })
          else reject(new Error(`${path} answered ${status}: ${bytes.toString().slice(0, 300)}`))
        })
      })
    })
  const giveUpAt = Date.now() + startLimitMs
  while (
    !(await get('/livez').then(
      () => true,
      () => false,
    ))
  ) {
    if (Date.now() > giveUpAt || child.exitCode !== null) throw new Error('The control plane did not start.')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    pid: child.pid ?? 0,
    get,
    close: async () => {
      agent.destroy()
      await stopChild(child)
    },
  }
}
