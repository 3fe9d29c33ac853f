import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import { ServiceError } from '#core/errors'
import { isSliceOver, nextSlice } from '#core/slices'
import { maxReportBytes, nextJobPath } from '#device-edge/contract'
import { gatewayDeviceHeader } from '#device-edge/gateway'
import { type BodyTerms, startDeadline } from '#http/body'
import { createEdgeCopies } from './edge-copies.ts'

/**
 * `maxBytes`: the device edge's body limit, by default that of a report. `onRefused`: called when the device edge returns 401.
 * `authorization`: the credentials, by default those in the header.
 */
type ForwardTerms = BodyTerms & { maxBytes?: number; onRefused?: () => void; authorization?: string | undefined }

export type DeviceEdge = {
  /**
   * Forwards the request to the device edge and streams its response back. Uses node:http directly, because web streams
   * would cost more than everything else here. Reads the whole body first: the edge can respond before it has read
   * everything, and the rest of the body must not be parsed as the next request. Throws 503 if the edge is unavailable,
   * and the errors of the body's limits.
   */
  forward(c: Context, requestId: string, terms: ForwardTerms): Promise<Response>
  /**
   * Checks a router's token, given as an `Authorization` header. Returns the device edge's error response, or undefined if the
   * token is valid.
   */
  checkToken(incoming: IncomingMessage, requestId: string, authorization: string): Promise<Response | undefined>
  /** Answers routers that wait for a job, and those that begin to wait later, with 204. They ask again. */
  endWaits(): void
  close(): Promise<void>
}

/** The node:http request and response. */
type NodeBindings = { incoming: IncomingMessage; outgoing: ServerResponse }

// RFC 9110 7.6.1: these headers describe the connection, not the message.
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

/** Internal path of the device edge that returns 204 for a valid token. */
const tokenCheckPath = '/device/token'

/** The connections to the copies of the ingest app, which share this service's base address. */
export function createDeviceEdge(ingestUrls: readonly string[]): DeviceEdge {
  const copies = createEdgeCopies(ingestUrls)
  /** The requests that may wait for a job. The event `abort` ends one. */
  const waits = new Set<EventEmitter>()
  let areWaitsOver = false
  return {
    async forward(c, requestId, { maxBytes = maxReportBytes, onRefused, authorization, ...terms }) {
      const { incoming, outgoing } = c.env as NodeBindings
      // Do not use Hono's path, which is decoded.
      const { pathname, search } = new URL(c.req.url)
      const hasBody = c.req.method !== 'GET' && c.req.method !== 'HEAD'
      const isWait = c.req.method === 'GET' && pathname === nextJobPath
      if (isWait && areWaitsOver) return noJob()
      // Cancel the request when the client disconnects; otherwise the edge would wait for a job.
      const leaving = new EventEmitter()
      outgoing.once('close', () => leaving.emit('abort'))
      if (isWait) waits.add(leaving)
      try {
        // One byte more is forwarded, so that the edge returns 413 in its own order of checks.
        const body = hasBody ? await readStart(incoming, maxBytes + 1, terms) : null
        const headers = forwardedHeaders(incoming, requestId)
        await copies.request(credentialsOf(incoming, authorization), (pool) => {
          if (outgoing.destroyed) throw clientIsGone()
          return pool.stream(
            { method: c.req.method as 'GET' | 'POST', path: pathname + search, headers, body, signal: leaving },
            ({ statusCode, headers }) => {
              if (statusCode === 401) onRefused?.()
              return outgoing.writeHead(statusCode, returnedHeaders(headers))
            },
          )
        })
      } catch (error) {
        if (error instanceof ServiceError) throw error
        const isAnswerable = !outgoing.headersSent && !outgoing.destroyed
        // A job that the router was about to get is handed out again.
        if (isAnswerable && isWait && areWaitsOver) return noJob()
        if (isAnswerable) throw edgeIsAway()
        outgoing.destroy()
      } finally {
        waits.delete(leaving)
      }
      return new Response(null, { status: outgoing.statusCode, headers: RESPONSE_ALREADY_SENT.headers })
    },
    async checkToken(incoming, requestId, authorization) {
      const device = incoming.headers[gatewayDeviceHeader]
      const headers = {
        ...callerHeaders(incoming, requestId),
        authorization,
        ...(device === undefined ? {} : { [gatewayDeviceHeader]: String(device) }),
      }
      const answer = await copies
        .request(credentialsOf(incoming, authorization), (pool) =>
          pool.request({ method: 'GET', path: tokenCheckPath, headers }),
        )
        .catch(() => {
          throw edgeIsAway()
        })
      const text = await answer.body.text()
      // Earlier versions of the device edge return 404 here and check the token after the body.
      if (answer.statusCode === 204 || answer.statusCode === 404) return undefined
      return new Response(text, { status: answer.statusCode, headers: headersOf(returnedHeaders(answer.headers)) })
    },
    endWaits() {
      areWaitsOver = true
      for (const wait of waits) wait.emit('abort')
    },
    close: copies.close,
  }
}

/** Returns what selects the copy of the device edge. A gateway has one key for all its devices, so they are told apart. */
function credentialsOf({ headers }: IncomingMessage, authorization = headers.authorization): string | undefined {
  const device = headers[gatewayDeviceHeader]
  return device === undefined ? authorization : `${authorization} ${device}`
}

const noJob = () => new Response(null, { status: 204 })

const edgeIsAway = () =>
  new ServiceError(503, 'device_edge_unavailable', 'The device edge is temporarily unavailable. Retry later.', {
    headers: { 'Retry-After': '2' },
  })

const clientIsGone = () => new Error('The client closed the connection.')

/** Many large bodies at once would fill one turn of the event loop with up to 2 MiB of each. */
function pauseForATurn(source: IncomingMessage): void {
  source.pause()
  void nextSlice().then(() => source.resume())
}

/** The first `mostBytes` of a body; the rest is read and dropped. Throws the errors of the account and the deadline. */
async function readStart(source: IncomingMessage, mostBytes: number, { account, deadlineMs }: BodyTerms) {
  const chunks: Buffer[] = []
  let kept = 0
  const deadline = startDeadline(deadlineMs)
  // Use events: leaving a loop over the message early would destroy the connection that the response needs.
  const ended = new Promise<void>((resolve, reject) => {
    source.on('data', (chunk: Buffer) => {
      if (isSliceOver()) pauseForATurn(source)
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
    // Every request closes. An error has a stack trace, which takes more time than the headers.
    source.once('close', () => source.readableEnded || reject(clientIsGone()))
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

/** Alternating header names and values, without hop-by-hop headers and those that are set again. */
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

/** Headers that identify the client to the device edge. */
function callerHeaders({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>, requestId: string) {
  const chain = [headers['x-forwarded-for'], socket.remoteAddress].filter((entry) => entry !== undefined)
  return { 'x-request-id': requestId, 'x-forwarded-for': chain.join(', ') }
}

const headersOf = (received: Record<string, string | string[] | undefined>): Headers =>
  new Headers(Object.entries(received).map(([name, value]) => [name, String(value)]))

const returnedHeaders = (received: Record<string, string | string[] | undefined>) =>
  Object.fromEntries(Object.entries(received).filter(([name, value]) => value !== undefined && !hopHeaders.has(name)))
