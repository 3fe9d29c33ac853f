import { type Context, Hono } from 'hono'
import { insufficientScope, notFound, ServiceError, throwIfClosed } from '#core/errors'
import type { Principal } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import type { BodyTerms } from '#http/body'
import type { BodyBudget } from '#http/body-budget'
import { chunkedResponse, collect } from '#http/chunked-body'
import { chooseCoding, encodeChunks, encodeStream, varyByEncoding } from '#http/compression'
import { jsonChunks } from '#http/json-chunks'
import { problemResponse } from '#http/problem'
import { rateLimitHeaders } from '#http/rate-limit'
import { requestIdFrom } from '#http/request-id'
import { logFailure, logRequest } from '#http/request-log'
import { isUnavailable } from '#postgres/errors'
import type { Services } from '../services.ts'
import { unauthenticatedBodyMs } from './bodies.ts'
import { clientAddress } from './client-address.ts'
import { answerOnce } from './idempotency.ts'
import { parseRequest } from './request.ts'
import type { Admission, Reply, Route } from './route.ts'

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
  let admitted: Admitted | undefined
  try {
    const admission = await admit(route, c, services)
    if (admission instanceof Response) return admission
    admitted = admission
    const { principal } = admitted
    const parsed = await parseRequest(route, c, admitted.terms)
    if (route.access === 'platform' && !principal.platform && !route.params) throw insufficientScope('platform')
    const ctx: FleetContext = {
      pool: services.pool,
      plans: services.plans,
      clock: services.clock,
      principal,
      requestId: c.get('requestId'),
    }
    const run = (within: FleetContext) => route.handle({ ctx: within, services, http: c, admission, ...parsed })
    const answer = await answerOnce(route, c.req, parsed, ctx, services.keyring, run)
    return answer instanceof Response ? await streamed(answer, c) : await rendered(answer, c)
  } catch (error) {
    throw error instanceof ServiceError && route.adaptError ? route.adaptError(error) : error
  } finally {
    admitted?.terms.account?.close()
  }
}

const nobody: Principal = {
  id: 'anonymous',
  platform: false,
  homeOrganizationId: null,
  grants: new Map(),
  rateLimit: { key: 'anonymous', perMinute: 0 },
}

type Admitted = Admission & { principal: Principal }

/** Who is calling and how the body may be read, before any of it is. A router may be refused by the device edge. */
async function admit(route: Route, c: AppContext, services: Services): Promise<Admitted | Response> {
  const { bodies } = services
  const address = clientAddress(c, services.trustedProxyHops)
  const hasBody = route.body !== undefined || route.passedBody !== undefined
  const termsOf = (budget: BodyBudget, holder: string, deadlineMs?: number): BodyTerms =>
    hasBody ? { account: budget.open(holder), ...(deadlineMs === undefined ? {} : { deadlineMs }) } : {}
  if (route.access === 'public') {
    return { principal: nobody, terms: termsOf(bodies.unauthenticated, address, unauthenticatedBodyMs) }
  }
  if (route.access === 'device') {
    const router = await countingFailures(services, address, () =>
      services.deviceAdmission.admit(c, c.get('requestId')),
    )
    // From here on the device edge logs what is worth a line.
    c.set('isPassedOn', true)
    if (router instanceof Response) return router
    return { principal: nobody, terms: termsOf(bodies.device, router.tokenDigest), ...router }
  }
  const principal = await countingFailures(services, address, () =>
    services.authenticator.authenticate(c.req.header('authorization'), address),
  )
  c.set('principal', principal)
  const state = await services.requestLimiter.consume(principal.rateLimit.key, principal.rateLimit.perMinute)
  c.set('extra', rateLimitHeaders(state))
  return { principal, terms: termsOf(bodies.principal, principal.rateLimit.key) }
}

/**
 * Counts a 401 against the address it comes from, and throws 429 when that has failed too often. Only failures are
 * refused by that: behind one address may be a whole office, of which one machine has an old key.
 */
async function countingFailures<Result>(
  services: Services,
  address: string,
  authenticate: () => Promise<Result>,
): Promise<Result> {
  try {
    return await authenticate()
  } catch (error) {
    if (error instanceof ServiceError && error.status === 401) {
      await services.failedAuthenticationLimiter.consume(address, failedAuthenticationsPerMinute)
    }
    throw error
  }
}

async function rendered(reply: Reply, c: AppContext): Promise<Response> {
  const headers = new Headers(reply.headers)
  if (reply.body === undefined) {
    // What a cache keeps for the answer with a body, it is told again without one (RFC 9110, 15.4.5).
    if (reply.status === 304) varyByEncoding(headers)
    return new Response(null, { status: reply.status, headers })
  }
  headers.set('content-type', 'application/json')
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
  const text = await collect(jsonChunks(reply.body), () => throwIfClosed(c.req.raw.signal))
  const coding = chooseCoding(c.req.header('accept-encoding'))
  const chunks = await encodeChunks(text, coding, headers)
  return chunkedResponse(chunks, { status: reply.status, headers })
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
