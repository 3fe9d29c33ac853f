import type { IncomingMessage } from 'node:http'
import { Hono } from 'hono'
import { adapters } from '#adapters/adapters'
import { notFound, ServiceError } from '#core/errors'
import { version } from '#core/version'
import { nextJobPath, reportPath } from '#device-edge/contract'
import { type ReadinessCheck, readiness } from '#http/health'
import type { HttpMetrics } from '#http/metrics'
import { problemResponse } from '#http/problem'
import { requestIdFrom } from '#http/request-id'
import { type Logger, logRequest } from '#http/request-log'
import { toServiceError } from './to-service-error.ts'

/** The Node.js request of each web-standard request. */
export type EdgeBindings = { incoming: IncomingMessage }

/** A route that receives web-standard requests. */
export type EdgeRoute = {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  handle: (request: Request, call: EdgeCall) => Promise<Response>
}

/** What a route may need beside the request. `incoming` is the Node.js request, with its socket. */
type EdgeCall = { requestId: string; parameters: Record<string, string>; incoming: IncomingMessage }

export type AppParts = {
  logger: Logger
  metrics: HttpMetrics
  checks: readonly ReadinessCheck[]
  routes: readonly EdgeRoute[]
}

/** Routes on node:http that bypass this app. The app only rejects other methods on their paths. */
const nodeRoutes = [
  { method: 'POST', path: reportPath },
  { method: 'GET', path: nextJobPath },
  ...adapters.map(({ path }) => ({ method: 'POST', path })),
]

/** Creates the app for all routes except those on node:http. */
export function createApp({ logger, metrics, checks, routes }: AppParts): Hono<{ Bindings: EdgeBindings }> {
  const app = new Hono<{ Bindings: EdgeBindings }>()
  const operations: EdgeRoute[] = [
    { method: 'GET', path: '/livez', handle: async () => Response.json({ alive: true }) },
    { method: 'GET', path: '/readyz', handle: () => answerReadiness(checks) },
    { method: 'GET', path: '/metrics', handle: () => answerMetrics(metrics) },
  ]
  const served = [...operations, ...routes]
  for (const { method, path, handle } of served) {
    app.on(method, path, async (c) => {
      const requestId = requestIdFrom(c.req.header('x-request-id'))
      const startedMs = performance.now()
      const response = await handle(c.req.raw, {
        requestId,
        parameters: c.req.param(),
        incoming: c.env.incoming,
      }).catch((error: unknown) => answerError(error, requestId, logger))
      response.headers.set('X-Request-Id', requestId)
      const durationMs = performance.now() - startedMs
      metrics.observe({ method, route: path, status: response.status, durationMs })
      if (!operations.some((operation) => operation.path === path)) {
        logRequest(logger, { requestId, method, route: path, status: response.status, durationMs })
      }
      return response
    })
  }
  const all = [...nodeRoutes, ...served]
  for (const path of new Set(all.map((route) => route.path))) {
    const allow = all.filter((route) => route.path === path).map(methodOf)
    app.all(path, () => {
      const methods = allow.join(', ')
      throw new ServiceError(405, 'method_not_allowed', `Method not allowed. Allowed: ${methods}.`, {
        headers: { Allow: methods },
      })
    })
  }
  app.notFound(() => {
    throw notFound('path')
  })
  app.onError((error, c) => {
    const requestId = requestIdFrom(c.req.header('x-request-id'))
    const response = answerError(error, requestId, logger)
    response.headers.set('X-Request-Id', requestId)
    return response
  })
  return app
}

const methodOf = ({ method }: { method: string }) => method

async function answerReadiness(checks: readonly ReadinessCheck[]): Promise<Response> {
  const state = await readiness(checks)
  if (state.ready) return Response.json({ version, ...state })
  throw new ServiceError(503, 'not_ready', 'The device edge is not ready.', {
    members: { version, checks: state.checks, ...(state.reasons && { reasons: state.reasons }) },
    headers: { 'Retry-After': '1' },
  })
}

async function answerMetrics({ registry }: HttpMetrics): Promise<Response> {
  return new Response(await registry.metrics(), { headers: { 'content-type': registry.contentType } })
}

const answerError = (error: unknown, requestId: string, logger: Logger): Response =>
  problemResponse(toServiceError(error, requestId, logger), requestId)
