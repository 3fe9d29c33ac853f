import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export type CuttingProxy = {
  port: number
  /** While true, the proxy disturbs connections. While false, it forwards everything. */
  setHostile(hostile: boolean): void
  cuts(): number
  close(): void
}

/**
 * A TCP proxy that simulates a bad link: it delays data, cuts connections during a request or response, closes only one
 * direction, and drops responses.
 */
export async function startCuttingProxy(target: { host: string; port: number }): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let hostile = true
  let cuts = 0

  function damage(client: Socket, upstream: Socket): void {
    if (!hostile) return
    const kind = Math.random()
    if (kind > 0.12) return
    cuts += 1
    if (kind < 0.03) client.destroy()
    else if (kind < 0.06) upstream.destroy()
    else if (kind < 0.09) upstream.end()
    // The request arrives, but the response does not.
    else upstream.unpipe(client)
    setTimeout(() => {
      client.destroy()
      upstream.destroy()
    }, 200).unref()
  }

  const server = createServer((client) => {
    const upstream = connect(target.port, target.host)
    sockets.add(client).add(upstream)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.on('close', () => {
      sockets.delete(client)
      upstream.destroy()
    })
    upstream.on('close', () => {
      sockets.delete(upstream)
      client.destroy()
    })
    // Delayed data delays later data, because TCP preserves the order of bytes.
    let passed = Promise.resolve()
    client.on('data', (bytes) => {
      const waitMs = hostile && Math.random() < 0.1 ? Math.random() * 50 : 0
      passed = passed
        .then(() => (waitMs > 0 ? delay(waitMs) : undefined))
        .then(() => void (upstream.writable && upstream.write(bytes)))
      damage(client, upstream)
    })
    upstream.pipe(client)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
  return {
    port: address.port,
    setHostile(next) {
      hostile = next
    },
    cuts: () => cuts,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
