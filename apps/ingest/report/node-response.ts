import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '#core/errors'
import { toProblem } from '#http/problem'
import { requestIdFrom } from '#http/request-id'

/** A route straight on node:http, for calls whose number makes a web-standard Request and Response too dear. */
export type StraightRoute = (request: IncomingMessage, response: ServerResponse) => void

/** The caller's own request id when it is sane, a new one otherwise. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id']
  return requestIdFrom(typeof sent === 'string' ? sent : undefined)
}

/** Answers in JSON that no cache keeps; without a body when it is undefined. */
export function answer(
  response: ServerResponse,
  status: number,
  requestId: string,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = body === undefined ? undefined : JSON.stringify(body)
  response.writeHead(status, {
    ...(text === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text), 'Cache-Control': 'no-store' }),
    'X-Request-Id': requestId,
    ...headers,
  })
  response.end(text)
}

/** Answers with the problem document of any thrown value, and returns what it says. */
export function answerProblem(response: ServerResponse, error: unknown, requestId: string) {
  const problem = toProblem(error, requestId)
  const headers = error instanceof ServiceError ? error.headers : undefined
  answer(response, problem.status, requestId, problem, { ...headers, 'Content-Type': 'application/problem+json' })
  return problem
}
