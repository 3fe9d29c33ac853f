import type { IncomingMessage, ServerResponse } from 'node:http'
import { ServiceError } from '#core/errors'
import { toProblem } from '#http/problem'
import { requestIdFrom } from '#http/request-id'

/** A route on node:http, for requests whose number makes web-standard Request and Response objects too expensive. */
export type NodeRoute = (request: IncomingMessage, response: ServerResponse) => void

/** Returns the caller's request id if it is valid, otherwise a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const sent = request.headers['x-request-id']
  return requestIdFrom(typeof sent === 'string' ? sent : undefined)
}

/** Sends a JSON response that must not be cached. Without a body if it is undefined. */
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

/** Sends the problem document of any thrown value and returns it. */
export function answerProblem(response: ServerResponse, error: unknown, requestId: string) {
  const problem = toProblem(error, requestId)
  const headers = error instanceof ServiceError ? error.headers : undefined
  answer(response, problem.status, requestId, problem, { ...headers, 'Content-Type': 'application/problem+json' })
  return problem
}
