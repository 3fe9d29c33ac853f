import type { HonoRequest } from 'hono'
import { ServiceError } from '#core/errors'
import { inProgress, runOnce, type StoredResponse } from '#fleet/access/idempotency'
import type { FleetContext } from '#fleet/context'
import type { ParsedRequest } from './request.ts'
import type { Reply, Route } from './route.ts'

const keyPattern = /^[\x21-\x7e]{1,255}$/

type Handling = {
  /** The names of requests in progress. */
  begun: Set<string>
  run: (ctx: FleetContext) => Promise<Reply | Response>
  /** Waits for the turn of the caller, if the route has a line. */
  inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/**
 * Runs a handler in its turn, or returns the response of the first request with the same `Idempotency-Key`. With a key, handler
 * and record share one transaction: after a crash, neither exists, so a retry neither repeats nor loses the work. Throws 409 if
 * the first request waits or runs.
 */
export async function answerOnce(
  route: Route,
  request: HonoRequest,
  parsed: ParsedRequest,
  ctx: FleetContext,
  { begun, run, inTurn }: Handling,
): Promise<Reply | Response> {
  const key = request.header('idempotency-key')
  const mode = modeOf(route, parsed)
  if (!mode || key === undefined) return inTurn(() => run(ctx))
  if (!keyPattern.test(key)) {
    throw new ServiceError(400, 'invalid_idempotency_key', 'Idempotency-Key must have 1–255 visible ASCII characters.')
  }
  const work = async (within: FleetContext): Promise<StoredResponse> => {
    const reply = await run(within)
    if (reply instanceof Response) throw new TypeError('A streamed response cannot be stored.')
    return { status: reply.status, headers: reply.headers ?? {}, body: reply.body ?? null }
  }
  const keyed = {
    key,
    method: request.method,
    path: request.path,
    request: [request.queries(), parsed.rawBody ?? null],
    access: route.access,
    organizationId: organizationIn(parsed),
    showsSecret: mode === 'secret',
  }
  const { homeOrganizationId, id } = ctx.principal
  const name = JSON.stringify([homeOrganizationId, id, keyed.method, keyed.path, key])
  if (begun.has(name)) throw inProgress()
  begun.add(name)
  const kept = await inTurn(() => runOnce(ctx, keyed, work)).finally(() => begun.delete(name))
  return {
    status: kept.answer.status,
    headers: { ...kept.answer.headers, ...(kept.replayed ? { 'Idempotency-Replayed': 'true' } : {}) },
    ...(kept.answer.body === null ? {} : { body: kept.answer.body }),
  }
}

const modeOf = ({ idempotent }: Route, { query }: ParsedRequest) =>
  typeof idempotent === 'function' ? idempotent(query) : idempotent

const organizationIn = ({ params }: ParsedRequest): string | undefined =>
  typeof params === 'object' && params !== null && 'orgId' in params && typeof params.orgId === 'string'
    ? params.orgId
    : undefined
