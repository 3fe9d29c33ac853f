import type { Context } from 'hono'
import { type Adapter, type AdapterHead, type AdapterProblem, adapterHeadOf } from '#adapters/adapter'
import { ServiceError } from '#core/errors'
import { toProblem } from '#http/problem'

/** The head of a request to an adapter. */
export function headOf(c: Context): AdapterHead {
  const { pathname, search } = new URL(c.req.url)
  const headers = { authorization: c.req.header('authorization'), 'content-type': c.req.header('content-type') }
  return adapterHeadOf({ url: pathname + search, headers })
}

/** Returns the response to any thrown value in the adapter's own form. */
export function adapterErrorResponse(adapter: Adapter, error: unknown, c: Context, requestId: string): Response {
  const headers = error instanceof ServiceError ? error.headers : undefined
  return problemInOwnForm(adapter, toProblem(error, requestId), headers ?? {}, c)
}

/** Returns a problem document of the device edge in the adapter's own form. */
export async function translatedProblem(adapter: Adapter, answer: Response, c: Context): Promise<Response> {
  const kept = ['retry-after', 'www-authenticate'].flatMap((name) => {
    const value = answer.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return problemInOwnForm(adapter, (await answer.json()) as AdapterProblem, Object.fromEntries(kept), c)
}

function problemInOwnForm(
  adapter: Adapter,
  problem: AdapterProblem,
  headers: Record<string, string>,
  c: Context,
): Response {
  const reply = adapter.answerProblem(problem, headOf(c))
  const body = typeof reply.body === 'string' || reply.body === undefined ? reply.body : new Uint8Array(reply.body)
  return new Response(body ?? null, {
    status: reply.status,
    headers: { ...headers, ...reply.headers, 'cache-control': 'no-store' },
  })
}
