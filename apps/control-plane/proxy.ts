import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { Context } from 'hono'
import { Pool } from 'undici'
import { ServiceError } from '#core/errors'

export type DeviceEdge = {
  /**
   * Passes the request on to the device edge and its answer back as it flows. The body is read to its end first: the
   * edge may refuse before it has read everything, and what a sender still had on its way must not be taken for its next
   * request. Throws 503 when the edge is away.
   */
  forward(c: Context, requestId: string): Promise<Response>
  close(): Promise<void>
}

// RFC 9110 7.6.1: these speak about one connection, not about the message.
const hopHeaders = [
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
]

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
      const incoming = (c.env as { incoming?: IncomingMessage } | undefined)?.incoming
      const hasBody = c.req.method !== 'GET' && c.req.method !== 'HEAD'
      const source = incoming ?? (c.req.raw.body ? Readable.fromWeb(c.req.raw.body as never) : undefined)
      try {
        const body = hasBody && source ? await readStart(source, edgeBodyLimitBytes + 1) : null
        const answer = await pool.request({
          method: c.req.method as 'GET' | 'POST',
          path: `${c.req.path}${new URL(c.req.url).search}`,
          headers: forwardedHeaders(c, incoming?.socket.remoteAddress, requestId),
          body,
          signal: c.req.raw.signal,
        })
        return new Response(
          answer.statusCode === 204 || answer.statusCode === 304 ? null : (Readable.toWeb(answer.body) as never),
          {
            status: answer.statusCode,
            headers: returnedHeaders(answer.headers),
          },
        )
      } catch {
        throw new ServiceError(503, 'device_edge_unavailable', 'The device edge is away. Try again shortly.', {
          headers: { 'Retry-After': '2' },
        })
      }
    },
    close: () => pool.destroy(),
  }
}

/** The first `mostBytes` of a body; the rest is read and dropped. */
async function readStart(source: Readable, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let kept = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (kept >= mostBytes) continue
    chunks.push(chunk.subarray(0, mostBytes - kept))
    kept += Math.min(chunk.length, mostBytes - kept)
  }
  return Buffer.concat(chunks, kept)
}

function forwardedHeaders(c: Context, address: string | undefined, requestId: string): Record<string, string> {
  const headers = Object.fromEntries(c.req.raw.headers)
  const named = (headers.connection ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  // The length is counted anew from what is passed on.
  for (const name of [...hopHeaders, ...named, 'content-length']) delete headers[name]
  const chain = [headers['x-forwarded-for'], address].filter((entry) => entry !== undefined)
  return { ...headers, 'x-request-id': requestId, ...(chain.length > 0 ? { 'x-forwarded-for': chain.join(', ') } : {}) }
}

function returnedHeaders(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(received)) {
    if (value === undefined || hopHeaders.includes(name)) continue
    for (const one of [value].flat()) headers.append(name, one)
  }
  return headers
}
