import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import { ServiceError } from '#core/errors'
import { createFairTurns } from '#core/fair-turns'
import { newId } from '#core/ids'
import { networkOf } from '#core/network-of'
import { type Address, type HttpServer, listenTogether } from '#http/listeners'
import { oneAtATime } from '#http/pipelining'
import { problemResponse, toProblem } from '#http/problem'
import { discardInTurns } from '#http/unread-bodies'

type Fetch = (request: Request, environment: never) => Response | Promise<Response>

/** Time for beginning requests before the event loop serves connections again. */
const turnMs = 5

/** Starts a server for a fetch handler. When many requests arrive at once, their clients' addresses, or networks with IPv6, take turns. */
export function startServer(fetch: Fetch, address: Address): Promise<HttpServer> {
  const turns = createFairTurns(turnMs)
  const listener = requestListener(fetch)
  return startListening((request, response) => {
    const { socket } = request
    void turns.run(networkOf(socket.remoteAddress ?? ''), () =>
      socket.destroyed ? undefined : listener(request, response),
    )
  }, address)
}

/** Converts a fetch handler to a request listener. Responds 400 when the message cannot be converted to a Request. */
export const requestListener = (fetch: Fetch): RequestListener =>
  getRequestListener(fetch as never, {
    // HTTP/1.0, which some health checks use, has no Host. The name only completes the URL.
    hostname: 'localhost',
    // startListening discards what is left of a body.
    autoCleanupIncoming: false,
    errorHandler(error) {
      const requestId = newId()
      const response = problemResponse(error instanceof RequestError ? malformed() : error, requestId)
      response.headers.set('X-Request-Id', requestId)
      return response
    },
  })

const malformed = () => new ServiceError(400, 'malformed_request', 'The request is not valid HTTP.')
const tooSlow = () => new ServiceError(408, 'request_timeout', 'The request did not arrive in time. Send it again.')

/**
 * Starts a server with limits on the time and size of request heads. Resolves when it listens. Responds with a problem
 * document to messages that are not HTTP, which never reach a route.
 */
export const startListening = (listener: RequestListener, address: Address): Promise<HttpServer> => {
  const inTurn = oneAtATime(discardInTurns(listener))
  return listenTogether(() => makeServer(inTurn), address)
}

function makeServer(listener: RequestListener): Server {
  const limits = { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 65_000, maxHeaderSize: 16 * 1024 }
  // Node itself would refuse a missing Host without a problem document.
  const server = createServer({ ...limits, requireHostHeader: false }, (request, response) => {
    if (request.headers.host === undefined && request.httpVersion === '1.1') return refuseHead(response)
    listener(request, response)
  })
  // Expectations other than 100-continue may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', listener)
  server.maxRequestsPerSocket = 0
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answer = socket.writable ? answerToBroken(error, (socket as Socket).bytesRead) : undefined
    if (answer === undefined) socket.destroy()
    else socket.end(answer)
  })
  return server
}

/**
 * What a connection without a complete request is told. Undefined: nothing, because the other end is gone or has not begun a
 * request. Clients open connections in advance, and could take an answer for that of the request that they send next.
 */
export function answerToBroken({ code }: NodeJS.ErrnoException, bytesRead: number): string | undefined {
  const isLate = code === 'ERR_HTTP_REQUEST_TIMEOUT'
  if (code === 'ECONNRESET' || (isLate && bytesRead === 0)) return undefined
  const { headers, body } = refusal(isLate ? tooSlow() : malformed())
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${isLate ? '408 Request Timeout' : '400 Bad Request'}\r\n${lines.join('')}\r\n${body}`
}

/** The headers and the body that refuse a request head. */
function refusal(error: ServiceError) {
  const requestId = newId()
  const body = JSON.stringify(toProblem(error, requestId))
  const headers = {
    'Content-Type': 'application/problem+json',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    Connection: 'close',
  }
  return { headers, body }
}

function refuseHead(response: ServerResponse): void {
  const { headers, body } = refusal(malformed())
  response.writeHead(400, headers).end(body)
}
