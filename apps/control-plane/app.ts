import { type Context, Hono } from 'hono'
import { insufficientScope, notFound, ServiceError } from '#core/errors'
import type { FleetContext } from '#fleet/context'
import type { Principal } from '#fleet/principal'
import { chooseCoding, encodeStream, encodeText } from '#http/compression'
import { problemResponse } from '#http/problem'
import { rateLimitHeaders } from '#http/rate-limit'
import { requestIdFrom } from '#http/request-id'
import { logFailure, logRequest } from '#http/request-log'
import { isUnavailable } from '#postgres/errors'
import { clientAddress } from './client-address.ts'
import { answerOnce } from './idempotency.ts'
import { parseRequest } from './request.ts'
import type { Reply, Route } from './route.ts'
import type { Services } from './services.ts'

/** Facts about a request that are settled on its way and told at its end. */
type Variables = {
  requestId: string
  route: string
  /** Asked by a router and answered by the device edge, which logs what of it is worth a line. */
  isPassedOn: boolean
  principal?: Principal
  code?: string
  extra: Record<string, string>
}
type AppContext = Context<{ Variables: Variables }>

const failedAuthenticationsPerMinute = 120

/**
 * The HTTP application over a list of routes. Every request meets the same checks in the contract's order:
 * 405, 401, 429, 413/415, 400, 404; what needs the organization (403, 402, 412, 409, 422) is the verb's.
 */
export function createApp(routes: readonly Route[], services: Services): Hono<{ Variables: Variables }> {
  const app = new Hono<{ Variables: Variables }>()
  app.use(async (c, next) => {
    const startedMs = performance.now()
    c.set('requestId', requestIdFrom(c.req.header('x-request-id')))
    c.set('route', 'none')
    c.set('isPassedOn', false)
    c.set('extra', {})
    await next()
    await finish(c, services, startedMs)
  })
  for (const route of routes) {
    app.on(route.method.toUpperCase(), route.path, async (c) => {
      c.set('route', route.path)
      c.set('isPassedOn', route.access === 'device')
      return serve(route, c, services)
    })
  }
  for (const [path, methods] of methodsByPath(routes)) {
    app.all(path, (c) => {
      c.set('route', path)
      const allow = methods.join(', ')
      throw new ServiceError(405, 'method_not_allowed', `Here you may use ${allow}.`, { headers: { Allow: allow } })
    })
  }
  app.notFound((c) => answerError(notFound('path'), c, services))
  app.onError((error, c) => answerError(error, c, services))
  return app
}

async function serve(route: Route, c: AppContext, services: Services): Promise<Response> {
  try {
    const principal = await admit(route, c, services)
    const parsed = await parseRequest(route, c)
    if (route.access === 'platform' && !principal.platform && !route.params) throw insufficientScope('platform')
    const ctx: FleetContext = {
      pool: services.pool,
      plans: services.plans,
      clock: services.clock,
      principal,
      requestId: c.get('requestId'),
    }
    const run = (within: FleetContext) => route.handle({ ctx: within, services, http: c, ...parsed })
    const answer = await answerOnce(route, c.req, parsed, ctx, run)
    return answer instanceof Response ? await streamed(answer, c) : await rendered(answer, c)
  } catch (error) {
    throw error instanceof ServiceError && route.adaptError ? route.adaptError(error) : error
  }
}

const nobody: Principal = {
  id: 'anonymous',
  platform: false,
  homeOrganizationId: null,
  grants: new Map(),
  rateLimit: { key: 'anonymous', perMinute: 0 },
}

/**
 * Who is calling, counted against their allowance. Failures are counted against the address they come from, and only
 * they are refused by that: behind one address may be a whole office, of which one machine has an old key.
 */
async function admit(route: Route, c: AppContext, services: Services): Promise<Principal> {
  if (route.access === 'public' || route.access === 'device') return nobody
  let principal: Principal
  try {
    principal = await services.authenticator.authenticate(c.req.header('authorization'))
  } catch (error) {
    if (error instanceof ServiceError && error.status === 401) {
      const address = clientAddress(c, services.trustedProxyHops)
      await services.failedAuthenticationLimiter.consume(address, failedAuthenticationsPerMinute)
    }
    throw error
  }
  c.set('principal', principal)
  const state = await services.requestLimiter.consume(principal.rateLimit.key, principal.rateLimit.perMinute)
  c.set('extra', rateLimitHeaders(state))
  return principal
}

async function rendered(reply: Reply, c: AppContext): Promise<Response> {
  const headers = new Headers(reply.headers)
  if (reply.body === undefined) return new Response(null, { status: reply.status, headers })
  headers.set('content-type', 'application/json')
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  const body = await encodeText(JSON.stringify(reply.body), chooseCoding(c.req.header('accept-encoding')), headers)
  return new Response(body, { status: reply.status, headers })
}

const compressible = /^(?:text\/(?!event-stream)|application\/(?:.*\+)?(?:json|x-ndjson|xml|javascript))/

async function streamed(response: Response, c: AppContext): Promise<Response> {
  const type = response.headers.get('content-type') ?? ''
  if (!response.body || response.headers.has('content-encoding') || !compressible.test(type)) return response
  const headers = new Headers(response.headers)
  const body = encodeStream(response.body, chooseCoding(c.req.header('accept-encoding')), headers)
  return new Response(body, { status: response.status, headers })
}

function answerError(error: unknown, c: AppContext, services: Services): Response {
  const shown = isUnavailable(error)
    ? new ServiceError(503, 'unavailable', 'A part of the service is away. Try again shortly.', {
        headers: { 'Retry-After': '2' },
      })
    : error
  if (!(error instanceof ServiceError)) logFailure(services.logger, c.get('requestId'), error)
  c.set('code', shown instanceof ServiceError ? shown.code : 'internal_error')
  return problemResponse(shown, c.get('requestId'))
}

async function finish(c: AppContext, services: Services, startedMs: number): Promise<void> {
  c.res.headers.set('X-Request-Id', c.get('requestId'))
  for (const [name, value] of Object.entries(c.get('extra'))) {
    if (!c.res.headers.has(name)) c.res.headers.set(name, value)
  }
  const seen = {
    method: c.req.method,
    route: c.get('route'),
    status: c.res.status,
    durationMs: performance.now() - startedMs,
  }
  services.metrics.observe(seen)
  if (c.get('isPassedOn') && seen.status < 500) return
  logRequest(services.logger, {
    ...seen,
    requestId: c.get('requestId'),
    principal: c.get('principal')?.id,
    code: c.get('code'),
  })
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const byPath = new Map<string, string[]>()
  for (const { path, method } of routes) {
    const methods = byPath.get(path) ?? []
    methods.push(method.toUpperCase(), ...(method === 'get' ? ['HEAD'] : []))
    byPath.set(path, methods)
  }
  return byPath
}
