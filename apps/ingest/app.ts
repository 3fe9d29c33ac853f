import type { IncomingMessage } from 'node:http'
import { Hono } from 'hono'
import { notFound, ServiceError } from '#core/errors'
import { type ReadinessCheck, readiness } from '#http/health'
import type { HttpMetrics } from '#http/metrics'
import { problemResponse } from '#http/problem'
import { requestIdFrom } from '#http/request-id'
import { type Logger, logRequest } from '#http/request-log'
import { nextJobPath } from './jobs/next-route.ts'
import { shownError } from './to-service-error.ts'

/** What node:http hands over with each request. */
export type EdgeBindings = { incoming: IncomingMessage }

/** One call of the device edge beside `POST /telemetry`. */
export type EdgeRoute = {
  method: 'GET' | 'POST'
  path: string
  handle: (request: Request, call: EdgeCall) => Promise<Response>
}

/** What else a route may need of a call. `incoming` is the request as node:http has it: whose socket it came through. */
export type EdgeCall = { requestId: string; parameters: Record<string, string>; incoming: IncomingMessage }

export type AppParts = {
  logger: Logger
  metrics: HttpMetrics
  checks: readonly ReadinessCheck[]
  routes: readonly EdgeRoute[]
}

/** What is answered before it comes this far, straight on node:http; here these paths only refuse other methods. */
const straight = [
  { method: 'POST', path: '/telemetry' },
  { method: 'GET', path: nextJobPath },
]

/** Everything ingest answers except what is answered straight: health, metrics, reports on jobs, refusals. */
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
  const all = [...straight, ...served]
  for (const path of new Set(all.map((route) => route.path))) {
    const allow = all.filter((route) => route.path === path).map(methodOf)
    app.all(path, () => {
      const methods = allow.join(', ')
      throw new ServiceError(405, 'method_not_allowed', `Here you may use ${methods}.`, { headers: { Allow: methods } })
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
  if (state.ready) return Response.json(state)
  throw new ServiceError(503, 'not_ready', 'The device edge cannot do its work right now.', {
    members: { checks: state.checks },
    headers: { 'Retry-After': '1' },
  })
}

async function answerMetrics({ registry }: HttpMetrics): Promise<Response> {
  return new Response(await registry.metrics(), { headers: { 'content-type': registry.contentType } })
}

const answerError = (error: unknown, requestId: string, logger: Logger): Response =>
  problemResponse(shownError(error, requestId, logger), requestId)
