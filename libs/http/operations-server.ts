import { createServer, type Server } from 'node:http'
import type { Registry } from 'prom-client'
import { version } from '#core/version'
import { type ReadinessCheck, readiness } from '#http/health'

type Parts = { checks: readonly ReadinessCheck[]; registry: Registry; isStopping: () => boolean }

/** Creates the HTTP server of an app without an API, with `/livez`, `/readyz` and `/metrics`, for the control plane and for scrapers. */
export function createOperationsServer({ checks, registry, isStopping }: Parts): Server {
  return createServer(async (request, response) => {
    const answer = (status: number, contentType: string, body: string) => {
      response.writeHead(status, { 'content-type': contentType }).end(body)
    }
    const path = new URL(request.url ?? '/', 'http://app').pathname
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return answer(405, 'text/plain', 'Method not allowed. Allowed: GET, HEAD.\n')
    if (path === '/livez') return answer(200, 'application/json', '{"status":"ok"}')
    if (path === '/readyz') {
      const state = isStopping() ? { ready: false, checks: {} } : await readiness(checks)
      return answer(state.ready ? 200 : 503, 'application/json', JSON.stringify({ version, ...state }))
    }
    if (path === '/metrics') return answer(200, registry.contentType, await registry.metrics())
    return answer(404, 'text/plain', 'No such path\n')
  })
}
