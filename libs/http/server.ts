import { createServer, type RequestListener, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { ServiceError } from '#core/errors'
import { newId } from '#core/ids'
import { toProblem } from '#http/problem'

type Fetch = (request: Request, environment: never) => Response | Promise<Response>

/** `maxConnections`: further ones are closed at once. */
type Address = { host: string; port: number; maxConnections?: number | undefined }

/** `startListening` for an application that answers Requests with Responses. */
export const startServer = (fetch: Fetch, address: Address): Promise<Server> =>
  startListening(getRequestListener(fetch as never), address)

/**
 * Listens with limits that slow or oversized heads cannot stretch, and resolves once it does. What is not HTTP at all is
 * answered with a problem document too, since no route ever sees it.
 */
export async function startListening(listener: RequestListener, address: Address): Promise<Server> {
  const server = createServer(
    { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 65_000, maxHeaderSize: 16 * 1024 },
    listener,
  )
  server.maxRequestsPerSocket = 0
  if (address.maxConnections !== undefined) server.maxConnections = address.maxConnections
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
    const refusal = new ServiceError(400, 'malformed_request', 'This is not a request that can be read.')
    const body = JSON.stringify(toProblem(refusal, newId()))
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(address.port, address.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return server
}
