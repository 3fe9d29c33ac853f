import type { HonoRequest } from 'hono'
import { ServiceError } from '#core/errors'
import { runOnce, type StoredResponse } from '#fleet/access/idempotency'
import type { FleetContext } from '#fleet/context'
import type { ParsedRequest } from './request.ts'
import type { Reply, Route } from './route.ts'

const keyPattern = /^[\x21-\x7e]{1,255}$/

/**
 * Runs a handler, or returns the response of the first request with the same `Idempotency-Key`. With a key, handler and
 * record share one transaction: after a crash, neither exists, so a retry neither repeats nor loses the work.
 */
export async function answerOnce(
  route: Route,
  request: HonoRequest,
  parsed: ParsedRequest,
  ctx: FleetContext,
  run: (ctx: FleetContext) => Promise<Reply | Response>,
): Promise<Reply | Response> {
  const key = request.header('idempotency-key')
  if (!route.idempotent || key === undefined) return run(ctx)
  if (!keyPattern.test(key)) {
    throw new ServiceError(400, 'invalid_idempotency_key', 'Idempotency-Key must have 1–255 visible ASCII characters.')
  }
  const kept = await runOnce(
    ctx,
    {
      key,
      method: request.method,
      path: request.path,
      request: [request.queries(), parsed.rawBody ?? null],
      access: route.access,
      showsSecret: modeOf(route, parsed) === 'secret',
    },
    async (within): Promise<StoredResponse> => {
      const reply = await run(within)
      if (reply instanceof Response) throw new TypeError('A streamed response cannot be stored.')
      return { status: reply.status, headers: reply.headers ?? {}, body: reply.body ?? null }
    },
  )
  return {
    status: kept.answer.status,
    headers: { ...kept.answer.headers, ...(kept.replayed ? { 'Idempotency-Replayed': 'true' } : {}) },
    ...(kept.answer.body === null ? {} : { body: kept.answer.body }),
  }
}

const modeOf = ({ idempotent }: Route, { query }: ParsedRequest) =>
  typeof idempotent === 'function' ? idempotent(query) : idempotent
