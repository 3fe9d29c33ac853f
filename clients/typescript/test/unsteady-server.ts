import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Received = { method: string; path: string; headers: IncomingMessage['headers']; body: string }
type Answer = (response: ServerResponse) => void

/** Answers with a status and JSON. */
export const answer =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

/** Cuts the connection. */
export const cut: Answer = (response) => void response.destroy()

/** A server that gives these answers in turn; the last one again and again. */
export async function startUnsteadyServer(answers: readonly Answer[]) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url: path = '', headers } = request
    received.push({ method, path, headers, body: Buffer.concat(chunks).toString() })
    answers[Math.min(received.length, answers.length) - 1]?.(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
