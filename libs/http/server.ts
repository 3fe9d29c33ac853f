import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { getRequestListener, RequestError } from '@hono/node-server'
import { ServiceError } from '#core/errors'
import { newId } from '#core/ids'
import { type Address, type HttpServer, listenTogether } from '#http/listeners'
import { oneAtATime } from '#http/pipelining'
import { problemResponse, toProblem } from '#http/problem'

type Fetch = (request: Request, environment: never) => Response | Promise<Response>

/** `startListening` for an application that answers Requests with Responses. */
export const startServer = (fetch: Fetch, address: Address): Promise<HttpServer> =>
  startListening(requestListener(fetch), address)

/** An application that answers Requests with Responses as a listener. What no Request can be made of is a 400. */
export const requestListener = (fetch: Fetch): RequestListener =>
  getRequestListener(fetch as never, {
    // HTTP/1.0, which some health checks speak, has no Host; a name is needed only to make a URL of the path.
    hostname: 'localhost',
    errorHandler(error) {
      const requestId = newId()
      const response = problemResponse(error instanceof RequestError ? malformed() : error, requestId)
      response.headers.set('X-Request-Id', requestId)
      return response
    },
  })

const malformed = () => new ServiceError(400, 'malformed_request', 'This is not a request that can be read.')

/**
 * Listens with limits that slow or oversized heads cannot stretch, and resolves once it does. What is not HTTP at all is
 * answered with a problem document too, since no route ever sees it.
 */
export const startListening = (listener: RequestListener, address: Address): Promise<HttpServer> => {
  const inTurn = oneAtATime(listener)
  return listenTogether(() => makeServer(inTurn), address)
}

function makeServer(listener: RequestListener): Server {
  const limits = { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 65_000, maxHeaderSize: 16 * 1024 }
  // Node would answer a missing Host by itself, without a problem document.
  const server = createServer({ ...limits, requireHostHeader: false }, (request, response) => {
    if (request.headers.host === undefined && request.httpVersion === '1.1') return refuseHead(response)
    listener(request, response)
  })
  // Whatever else than 100-continue a caller expects may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', listener)
  server.maxRequestsPerSocket = 0
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
    const { headers, body } = refusal()
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`)
  })
  return server
}

/** What is said to a head that cannot be read, by whoever has no Response to say it with. */
function refusal() {
  const requestId = newId()
  const body = JSON.stringify(toProblem(malformed(), requestId))
  const headers = {
    'Content-Type': 'application/problem+json',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    Connection: 'close',
  }
  return { headers, body }
}

function refuseHead(response: ServerResponse): void {
  const { headers, body } = refusal()
  response.writeHead(400, headers).end(body)
}
