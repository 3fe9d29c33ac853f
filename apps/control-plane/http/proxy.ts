import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import { Pool } from 'undici'
import { ServiceError } from '#core/errors'
import { type BodyTerms, startDeadline } from '#http/body'

/** `maxBytes`: what the device edge takes at most. `onRefused`: called when it answers 401. */
type ForwardTerms = BodyTerms & { maxBytes?: number; onRefused?: () => void }

export type DeviceEdge = {
  /**
   * Passes the request on to the device edge and its answer back as it flows, straight on node:http: web streams on both
   * sides would cost more than all else here. The body is read to its end first: the edge may refuse before it has read
   * everything, and what a sender still had on its way must not be taken for its next request. Throws 503 when the edge
   * is away, and what the terms make of the body.
   */
  forward(c: Context, requestId: string, terms: ForwardTerms): Promise<Response>
  /** Asks whether the request's token is good. Returns the device edge's refusal, undefined when there is none. */
  checkToken(incoming: IncomingMessage, requestId: string): Promise<Response | undefined>
  close(): Promise<void>
}

/** The node:http request and response. */
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

/** Where the device edge answers 204 for a good token. Only this service asks there. */
const tokenCheckPath = '/device/token'

/** One byte more than what the edge takes is passed on, so that it answers 413 in its own order of checks. */
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
    async forward(c, requestId, { maxBytes = edgeBodyLimitBytes, onRefused, ...terms }) {
      const { incoming, outgoing } = c.env as NodeBindings
      // Hono's own path is decoded.
      const { pathname, search } = new URL(c.req.url)
      const hasBody = c.req.method !== 'GET' && c.req.method !== 'HEAD'
      // A sender that leaves takes its request with it; one that waits for a job would be waited for otherwise.
      const leaving = new EventEmitter()
      outgoing.once('close', () => leaving.emit('abort'))
      try {
        const body = hasBody ? await readStart(incoming, maxBytes + 1, terms) : null
        await pool.stream(
          {
            method: c.req.method as 'GET' | 'POST',
            path: pathname + search,
            headers: forwardedHeaders(incoming, requestId),
            body,
            signal: leaving,
          },
          ({ statusCode, headers }) => {
            if (statusCode === 401) onRefused?.()
            return outgoing.writeHead(statusCode, returnedHeaders(headers))
          },
        )
      } catch (error) {
        if (error instanceof ServiceError) throw error
        if (!outgoing.headersSent && !outgoing.destroyed) throw edgeIsAway()
        outgoing.destroy()
      }
      return new Response(null, { status: outgoing.statusCode, headers: RESPONSE_ALREADY_SENT.headers })
    },
    async checkToken(incoming, requestId) {
      const headers = { ...callerHeaders(incoming, requestId), authorization: incoming.headers.authorization }
      const answer = await pool.request({ method: 'GET', path: tokenCheckPath, headers }).catch(() => {
        throw edgeIsAway()
      })
      const text = await answer.body.text()
      // A device edge of an earlier version does not know this path; it checks the token after the body has been read.
      if (answer.statusCode === 204 || answer.statusCode === 404) return undefined
      return new Response(text, { status: answer.statusCode, headers: headersOf(returnedHeaders(answer.headers)) })
    },
    close: () => pool.destroy(),
  }
}

const edgeIsAway = () =>
  new ServiceError(503, 'device_edge_unavailable', 'The device edge is temporarily unavailable. Retry later.', {
    headers: { 'Retry-After': '2' },
  })

/** The first `mostBytes` of a body; the rest is read and dropped. Throws what the account or the deadline throws. */
async function readStart(source: IncomingMessage, mostBytes: number, { account, deadlineMs }: BodyTerms) {
  const chunks: Buffer[] = []
  let kept = 0
  const deadline = startDeadline(deadlineMs)
  // By events: leaving a loop over the message early would destroy the connection that the answer needs.
  const ended = new Promise<void>((resolve, reject) => {
    source.on('data', (chunk: Buffer) => {
      const part = chunk.subarray(0, mostBytes - kept)
      if (part.length === 0) return
      try {
        account?.take(part.length)
      } catch (error) {
        return reject(error)
      }
      kept += part.length
      chunks.push(part)
    })
    source.once('end', resolve)
    source.once('error', reject)
    source.once('close', () => reject(new Error('The sender has left.')))
  })
  try {
    await Promise.race([ended, deadline.passed])
  } finally {
    deadline.clear()
    source.removeAllListeners('data')
  }
  account?.arrived()
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
  return [...forwarded, ...Object.entries(callerHeaders({ headers, socket }, requestId)).flat()]
}

/** What the device edge is told of who asks, whatever is asked. */
function callerHeaders({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>, requestId: string) {
  const chain = [headers['x-forwarded-for'], socket.remoteAddress].filter((entry) => entry !== undefined)
  return { 'x-request-id': requestId, 'x-forwarded-for': chain.join(', ') }
}

const headersOf = (received: Record<string, string | string[] | undefined>): Headers =>
  new Headers(Object.entries(received).map(([name, value]) => [name, String(value)]))

const returnedHeaders = (received: Record<string, string | string[] | undefined>) =>
  Object.fromEntries(Object.entries(received).filter(([name, value]) => value !== undefined && !hopHeaders.has(name)))
