import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { testTls } from './tls.ts'

type ReceivedChat = { path: string; contentType: string | undefined; body: Record<string, unknown> }

export type ChatReceiver = {
  /** The URL of the incoming webhook with this path. */
  url: (path: string) => string
  received: ReceivedChat[]
  /** The status of the next responses. Default: 200. */
  answerWith: (status: number) => void
  close(): Promise<void>
}

/** Starts an https server on this machine that accepts messages as the incoming webhook of a chat service does. */
export async function startChatReceiver(): Promise<ChatReceiver> {
  const received: ReceivedChat[] = []
  let status = 200
  const server = createServer(testTls, async (request, response) => {
    const body = JSON.parse(await text(request))
    received.push({ path: request.url ?? '', contentType: request.headers['content-type'], body })
    response.writeHead(status).end('ok')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: (path) => `https://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    received,
    answerWith: (next) => {
      status = next
    },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
