import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export type CountingProxy = { port: number; count(): number; close(): void }

/** Starts a TCP proxy on the loopback address that counts how often clients send a text. */
export async function startCountingProxy(target: { host: string; port: number }, text: string): Promise<CountingProxy> {
  const sockets = new Set<Socket>()
  let count = 0
  const server = createServer((client) => {
    const upstream = connect(target.port, target.host)
    sockets.add(client).add(upstream)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
    let rest = ''
    client.on('data', (bytes) => {
      const parts = (rest + bytes.toString('latin1')).split(text)
      count += parts.length - 1
      // The text may continue in the next chunk.
      rest = (parts.at(-1) ?? '').slice(-(text.length - 1))
    })
    client.pipe(upstream).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: address !== null && typeof address === 'object' ? address.port : 0,
    count: () => count,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
