import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Starts a reverse proxy that serves the service below a path prefix only. `url` ends with the prefix. Responses to paths that
 * begin with `broken` end after their first bytes.
 */
export async function serveBelow(prefix: string, serviceUrl: string, broken?: string) {
  const server = createServer((incoming, outgoing) => {
    const { url = '', method, headers } = incoming
    if (!url.startsWith(`${prefix}/`)) {
      outgoing.writeHead(404).end()
      return
    }
    const forwarded = request(serviceUrl + url.slice(prefix.length), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      if (broken !== undefined && url.startsWith(prefix + broken))
        answer.once('data', (bytes) => outgoing.write(bytes, () => outgoing.destroy()))
      else answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
