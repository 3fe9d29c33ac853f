import { Hono, type MiddlewareHandler } from 'hono'
import { insufficientScope, notFound, ServiceError, throwIfClosed } from '#core/errors'
import type { Traceparent } from '#core/tracing'
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
import type { Pool } from '#postgres/pool'
import type { Services } from '../services.ts'
import { adapterErrorResponse, headOf, translatedProblem } from './adapter-errors.ts'
import type { Admitted, AppContext, AppEnv } from './app-env.ts'
import { unauthenticatedBodyMs } from './bodies.ts'
import { authenticateCaller } from './caller.ts'
import { clientAddress } from './client-address.ts'
import { deprecatedUses, deprecationHeaders } from './deprecation.ts'
import { answerOnce } from './idempotency.ts'
import { operationIdOf } from './openapi-names.ts'
import { requestValidators, validatedRequest } from './request.ts'
import type { Reply, Route } from './route.ts'

const failedAuthenticationsPerMinute = 120

/**
 * The HTTP application for a list of routes. Checks run in the contract's order for every request: 405, 401, 429,
 * 413/415, 400, 404. The domain verb makes the checks that need the organization: 403, 402, 412, 409, 422.
 */
export function createApp(routes: readonly Route[], services: Services): Hono<AppEnv> {
  const app = new Hono<AppEnv>()
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
    app.on(
      route.method.toUpperCase(),
      [routerPath(route.path)],
      admitCaller(route, services),
      ...requestValidators(route),
      (c: AppContext) => handleTraced(route, c, services),
    )
  }
  for (const [path, methods] of methodsByPath(routes)) {
    app.all(routerPath(path), (c) => {
      c.set('route', path)
      const allow = methods.join(', ')
      throw new ServiceError(405, 'method_not_allowed', `Method not allowed. Allowed: ${allow}.`, {
        headers: { Allow: allow },
      })
    })
  }
  app.notFound((c) => errorResponse(notFound('path'), c, services))
  app.onError((error, c) => errorResponse(error, c, services))
  return app
}

/** The path in Hono's syntax: a parameter before a suffix, as in `:y.mvt`, takes the suffix as part of its value. */
const routerPath = (path: string): string => path.replace(/:(\w+)\.(\w+)$/, ':$1{[^/]+\\.$2}')

/** Authenticates the caller and holds a share of the memory for bodies until the request is answered. */
const admitCaller =
  (route: Route, services: Services): MiddlewareHandler<AppEnv> =>
  async (c, next) => {
    c.set('route', route.path)
    if (route.adaptError) c.set('adaptError', route.adaptError)
    if (route.adapter) c.set('adapter', route.adapter)
    noteDeprecated(route, c, services)
    const admitted = await admit(route, c, services)
    if (admitted instanceof Response) return admitted
    c.set('admitted', admitted)
    try {
      await next()
    } finally {
      admitted.terms.account?.close()
    }
  }

function noteDeprecated(route: Route, c: AppContext, { publicBaseUrl }: Services): void {
  const uses = deprecatedUses(route, c.req.query())
  if (uses.length === 0) return
  const operation = operationIdOf(route)
  const documentation = `${publicBaseUrl.replace(/\/$/, '')}/docs#/${encodeURIComponent(route.tag)}/${operation}`
  c.set('deprecated', { operation, uses, documentation })
}

/** Handles the request in a span. The trace of a caller that sends `traceparent` continues. */
async function handleTraced(route: Route, c: AppContext, services: Services): Promise<Response> {
  // The device edge has spans for the requests of routers that belong to a job.
  if (!services.tracing || route.access === 'device') return handle(route, c, services)
  const span = services.tracing.begin(`${c.req.method} ${route.path}`, {
    kind: 'server',
    parent: c.req.header('traceparent'),
    attributes: { 'http.request.method': c.req.method, 'http.route': route.path, 'request.id': c.get('requestId') },
  })
  try {
    const response = await handle(route, c, services, span.traceparent)
    span.add({ 'http.response.status_code': response.status })
    span.end()
    return response
  } catch (error) {
    span.end(error)
    throw error
  }
}

async function handle(route: Route, c: AppContext, services: Services, traceparent?: Traceparent): Promise<Response> {
  const { principal, ...admission } = c.get('admitted')
  const parsed = validatedRequest(route, c)
  if (route.access === 'platform' && !principal.platform && !route.params) throw insufficientScope('platform')
  const ctx: FleetContext = {
    pool: callerShare(principal, c, services),
    plans: services.plans,
    keyring: services.keyring,
    clock: services.clock,
    principal,
    requestId: c.get('requestId'),
    traceparent,
  }
  const reauthenticate = () => authenticateCaller(services, c)
  const run = (within: FleetContext) =>
    route.handle({ ctx: within, services, http: c, admission, reauthenticate, ...parsed })
  const line = route.line?.(services)
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> =>
    line ? line.run(principal.rateLimit.key, work, c.req.raw.signal) : work()
  const answer = await answerOnce(route, c.req, parsed, ctx, { begun: services.begunRequests, run, inTurn })
  return answer instanceof Response ? await streamed(answer, c) : await rendered(answer, c)
}

const anonymous: Principal = {
  id: 'anonymous',
  platform: false,
  homeOrganizationId: null,
  grants: new Map(),
  rateLimit: { key: 'anonymous', perMinute: 0 },
}

/** The caller's share of the connections to Postgres. Callers of public routes are known by their address only. */
const callerShare = (principal: Principal, c: AppContext, { pools, trustedProxyHops }: Services): Pool =>
  principal === anonymous ? pools.internal(clientAddress(c, trustedProxyHops)) : pools.of(principal.rateLimit.key)

/**
 * Authenticates the caller and decides how its body may be read, before any of the body is read. Returns the device
 * edge's response when it refuses a router's token.
 */
async function admit(route: Route, c: AppContext, services: Services): Promise<Admitted | Response> {
  const { bodies } = services
  const address = clientAddress(c, services.trustedProxyHops)
  const hasBody = route.body !== undefined || route.passedBody !== undefined
  const termsOf = (budget: BodyBudget, holder: string, deadlineMs?: number): BodyTerms =>
    hasBody ? { account: budget.open(holder), ...(deadlineMs === undefined ? {} : { deadlineMs }) } : {}
  if (route.access === 'public') {
    return { principal: anonymous, terms: termsOf(bodies.unauthenticated, address, unauthenticatedBodyMs) }
  }
  if (route.access === 'device') {
    const { adapter } = route
    const authorization = adapter ? adapter.authorizationOf(headOf(c)) : c.req.header('authorization')
    const router = await countingFailures(services, address, () =>
      services.deviceAdmission.admit(c, c.get('requestId'), authorization),
    )
    // The device edge logs this request from now on.
    c.set('isPassedOn', true)
    if (router instanceof Response) return adapter ? translatedProblem(adapter, router, c) : router
    return { principal: anonymous, terms: termsOf(bodies.device, router.tokenDigest), ...router, authorization }
  }
  const principal = await countingFailures(services, address, () => authenticateCaller(services, c, address))
  c.set('principal', principal)
  const state = await services.requestLimiter.consume(principal.rateLimit.key, principal.rateLimit.perMinute)
  c.set('extra', rateLimitHeaders(state))
  return { principal, terms: termsOf(bodies.principal, principal.rateLimit.key) }
}

/**
 * Counts each 401 for the client's address and throws 429 when there are too many. Valid credentials always pass, because
 * many clients can share one address.
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
    // A 304 carries the same Vary header as the 200 would (RFC 9110, 15.4.5).
    if (reply.status === 304) varyByEncoding(headers)
    return new Response(null, { status: reply.status, headers })
  }
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
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

function errorResponse(error: unknown, c: AppContext, services: Services): Response {
  if (!(error instanceof ServiceError)) logFailure(services.logger, c.get('requestId'), error)
  const answered = toServiceError(error, c.get('adaptError'))
  c.set('code', answered instanceof ServiceError ? answered.code : 'internal_error')
  const adapter = c.get('adapter')
  if (adapter) return adapterErrorResponse(adapter, answered, c, c.get('requestId'))
  return problemResponse(answered, c.get('requestId'))
}

function toServiceError(error: unknown, adaptError: Route['adaptError']): unknown {
  if (isUnavailable(error)) {
    return new ServiceError(503, 'unavailable', 'Service temporarily unavailable. Retry later.', {
      headers: { 'Retry-After': '2' },
    })
  }
  return error instanceof ServiceError && adaptError ? adaptError(error) : error
}

async function finish(c: AppContext, services: Services, startedMs: number): Promise<void> {
  c.res.headers.set('X-Request-Id', c.get('requestId'))
  for (const [name, value] of Object.entries(c.get('extra'))) {
    if (!c.res.headers.has(name)) c.res.headers.set(name, value)
  }
  const deprecated = c.get('deprecated')
  if (deprecated) sayDeprecated(deprecated, c, services)
  const observed = {
    method: c.req.method,
    route: c.get('route'),
    status: c.res.status,
    durationMs: performance.now() - startedMs,
  }
  services.metrics.observe(observed)
  if (c.get('isPassedOn') && observed.status < 500) return
  logRequest(services.logger, {
    ...observed,
    requestId: c.get('requestId'),
    principal: c.get('principal')?.id,
    code: c.get('code'),
    deprecated: deprecated?.uses.map(({ parameter }) => parameter ?? deprecated.operation),
  })
}

/** Tells the caller and the operator about deprecated parts of the API. */
function sayDeprecated(
  { operation, uses, documentation }: NonNullable<AppEnv['Variables']['deprecated']>,
  c: AppContext,
  { metrics }: Services,
): void {
  for (const [name, value] of Object.entries(deprecationHeaders(uses, documentation))) c.res.headers.append(name, value)
  for (const { parameter } of uses) metrics.observeDeprecated({ operation, parameter: parameter ?? '' })
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
