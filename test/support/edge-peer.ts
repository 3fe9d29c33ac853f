import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

export type Received = { method: string; path: string; headers: IncomingMessage['headers']; body: string; atMs: number }

/** The response to one request: a status with JSON, or `cut` to close the connection after reading the request. */
export type PeerAnswer = { status: number; body?: unknown; raw?: Buffer; headers?: Record<string, string> } | 'cut'

export type EdgePeer = {
  baseUrl: string
  received: Received[]
  /** The received reports, each with its first line and its samples. */
  reports: () => { header: { sentAt: number; batchId: string }; samples: Record<string, unknown>[]; atMs: number }[]
  close: () => Promise<void>
}

/** Starts an HTTP server on loopback for the tests of the agent. It sends the responses that a test configures. */
export async function startEdgePeer(
  answer: (request: Received) => PeerAnswer | Promise<PeerAnswer>,
): Promise<EdgePeer> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const entry = await readRequest(request)
    received.push(entry)
    reply(response, await answer(entry))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    reports: () => received.filter(({ path }) => path === '/telemetry').map(readReport),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function readRequest(request: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  const body = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
  const { method = '', url = '', headers } = request
  return { method, path: url, headers, body, atMs: Date.now() }
}

function reply(response: ServerResponse, answer: PeerAnswer): void {
  if (answer === 'cut') return void response.destroy()
  const body = answer.raw ?? (answer.body === undefined ? '' : JSON.stringify(answer.body))
  response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers }).end(body)
}

function readReport({ body, atMs }: Received) {
  const [first = '{}', ...lines] = body.trim().split('\n')
  return {
    header: JSON.parse(first) as { sentAt: number; batchId: string },
    samples: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    atMs,
  }
}

export const accepted = (body: Record<string, unknown> = {}): PeerAnswer => ({
  status: 202,
  body: { accepted: 1, rejected: [], jobsPending: 0, ...body },
})

export const enrolled: PeerAnswer = { status: 201, body: { deviceId: 'd-1', token: 'fld_test' } }

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
