import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export type CuttingProxy = {
  port: number
  /** Misbehaves while true; passes everything on while false. */
  setHostile(hostile: boolean): void
  cuts(): number
  close(): void
}

/**
 * A TCP proxy as a bad link is: it delays, cuts connections in the middle of a request or of its answer, closes one
 * direction only, and swallows answers.
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
    // The request arrives, its answer never does.
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
    // What is delayed delays what follows: a bad link loses bytes, but never changes their order.
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
