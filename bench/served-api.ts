import { parseConfig } from '#core/config'
import { issueToken } from '#core/tokens'
import { startServer } from '#http/server'
import { createApp } from '../apps/control-plane/app.ts'
import { configSchema } from '../apps/control-plane/config.ts'
import { routes } from '../apps/control-plane/routes.ts'
import { openServices } from '../apps/control-plane/start.ts'
import type { BenchStack } from './stack.ts'

/** The control plane over HTTP, without rate limits, and a key that may read everything. */
export type ServedApi = {
  get(path: string, headers?: Record<string, string>): Promise<Response>
  close(): Promise<void>
}

const unused = { perMinute: 1, remaining: 1, resetSeconds: 60 }

export async function serveApi(stack: BenchStack): Promise<ServedApi> {
  const config = parseConfig(configSchema, {
    ...stack.environment,
    INGEST_URL: 'http://127.0.0.1:9',
    LOG_LEVEL: 'fatal',
  })
  const { services, close } = await openServices(config)
  const unlimited = { ...services, requestLimiter: { ...services.requestLimiter, consume: async () => unused } }
  const server = await startServer(createApp(routes, unlimited).fetch, { host: '127.0.0.1', port: 0 })
  const address = server.address()
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const issued = issueToken('flk')
  await stack.pool.query(
    "INSERT INTO api_key (id, name, token_hash, platform, created_by) VALUES ($1, 'bench', $2, true, 'bench')",
    [issued.id, issued.hash],
  )
  const authorization = `Bearer ${issued.token}`
  return {
    get: (path, headers = {}) => fetch(`${baseUrl}${path}`, { headers: { authorization, ...headers } }),
    close: async () => {
      server.close()
      server.closeAllConnections()
      await close()
    },
  }
}
