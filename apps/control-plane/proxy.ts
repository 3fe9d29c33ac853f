import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import { Pool } from 'undici'
import { ServiceError } from '#core/errors'

export type DeviceEdge = {
  /**
   * Passes the request on to the device edge and its answer back as it flows, straight on node:http: web streams on both
   * sides would cost more than all else here. The body is read to its end first: the edge may refuse before it has read
   * everything, and what a sender still had on its way must not be taken for its next request. Throws 503 when the edge
   * is away.
   */
  forward(c: Context, requestId: string): Promise<Response>
  close(): Promise<void>
}

/** What node:http hands over with each request. */
type NodeBindings = { incoming: IncomingMessage; outgoing: ServerResponse }

// RFC 9110 7.6.1: these speak about one connection, not about the message.
const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-connection',
  'expect',
  'host',
])

/** What the edge takes at most; one byte more is passed on, so that it answers 413 in its own order of checks. */
const edgeBodyLimitBytes = 1024 * 1024

/** Long enough for a router's long-poll of 55 s. */
const answerLimitMs = 70_000

/** A keep-alive connection pool to the ingest app, which shares this service's base address. */
export function createDeviceEdge(ingestUrl: string): DeviceEdge {
  const pool = new Pool(ingestUrl, {
    // No limit: every router that waits for a job holds one.
    connections: null,
    headersTimeout: answerLimitMs,
    bodyTimeout: answerLimitMs,
    pipelining: 1,
  })
  return {
    async forward(c, requestId) {
      const { incoming, outgoing } = c.env as NodeBindings
      // Hono's own path is decoded.
      const { pathname, search } = new URL(c.req.url)
      const hasBody = c.req.method !== 'GET' && c.req.method !== 'HEAD'
      // A sender that leaves takes its request with it; one that waits for a job would be waited for otherwise.
      const leaving = new EventEmitter()
      outgoing.once('close', () => leaving.emit('abort'))
      try {
        const body = hasBody ? await readStart(incoming, edgeBodyLimitBytes + 1) : null
        await pool.stream(
          {
            method: c.req.method as 'GET' | 'POST',
            path: pathname + search,
            headers: forwardedHeaders(incoming, requestId),
            body,
            signal: leaving,
          },
          ({ statusCode, headers }) => outgoing.writeHead(statusCode, returnedHeaders(headers)),
        )
      } catch {
        if (!outgoing.headersSent && !outgoing.destroyed) throw edgeIsAway()
        outgoing.destroy()
      }
      return new Response(null, { status: outgoing.statusCode, headers: RESPONSE_ALREADY_SENT.headers })
    },
    close: () => pool.destroy(),
  }
}

const edgeIsAway = () =>
  new ServiceError(503, 'device_edge_unavailable', 'The device edge is away. Try again shortly.', {
    headers: { 'Retry-After': '2' },
  })

/** The first `mostBytes` of a body; the rest is read and dropped. */
async function readStart(source: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let kept = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (kept >= mostBytes) continue
    chunks.push(chunk.subarray(0, mostBytes - kept))
    kept += Math.min(chunk.length, mostBytes - kept)
  }
  return Buffer.concat(chunks, kept)
}

/** Names and values in turn, as they came, without what speaks of this connection or is counted anew. */
function forwardedHeaders({ rawHeaders, headers, socket }: IncomingMessage, requestId: string): string[] {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const replaced = ['content-length', 'x-request-id', 'x-forwarded-for']
  const forwarded: string[] = []
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = String(rawHeaders[index])
    const key = name.toLowerCase()
    if (hopHeaders.has(key) || replaced.includes(key) || named.includes(key)) continue
    forwarded.push(name, String(rawHeaders[index + 1]))
  }
  const chain = [headers['x-forwarded-for'], socket.remoteAddress].filter((entry) => entry !== undefined)
  return [...forwarded, 'x-request-id', requestId, 'x-forwarded-for', chain.join(', ')]
}

const returnedHeaders = (received: Record<string, string | string[] | undefined>) =>
  Object.fromEntries(Object.entries(received).filter(([name, value]) => value !== undefined && !hopHeaders.has(name)))
