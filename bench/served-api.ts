import { issueToken } from '#core/tokens'
import { freePort } from '../apps/stack/engines/process.ts'
import { forkApp, stopChild } from './processes.ts'
import type { BenchStack } from './stack.ts'
import { openWireClient, type WireClient } from './wire.ts'

/** The control plane as a separate process, and a key with access to everything. */
export type ServedApi = {
  port: number
  pid: number
  /** The key of all requests. */
  key: string
  get: WireClient['get']
  post: WireClient['post']
  close(): Promise<void>
}

const startLimitMs = 60_000

export async function serveApi(stack: BenchStack, ingestPort = 9): Promise<ServedApi> {
  const port = await freePort()
  const child = forkApp('control-plane', {
    ...stack.environment,
    PORT: String(port),
    INGEST_URL: `http://127.0.0.1:${ingestPort}`,
  })
  const issued = issueToken('flk')
  await stack.pool.query(
    "INSERT INTO api_key (id, name, token_hash, platform, created_by) VALUES ($1, 'bench', $2, true, 'bench')",
    [issued.id, issued.hash],
  )
  const client = openWireClient(port, issued.token)
  const giveUpAt = Date.now() + startLimitMs
  while (
    !(await client.get('/livez').then(
      () => true,
      () => false,
    ))
  ) {
    if (Date.now() > giveUpAt || child.exitCode !== null) throw new Error('The control plane did not start.')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    port,
    pid: child.pid ?? 0,
    key: issued.token,
    get: client.get,
    post: client.post,
    close: async () => {
      client.close()
      await stopChild(child)
    },
  }
}
