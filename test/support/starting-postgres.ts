import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A proxy to Postgres that first behaves like a server that is starting up. */
export type StartingPostgres = {
  url: string
  refusals(): number
  comeUp(): void
  /** Closes all connections and refuses new ones until `comeUp`. */
  goDown(): void
  /** Stops forwarding responses on the open connections, but keeps them open. */
  silenceConnections(): void
  close(): void
}

/** Starts a proxy for `databaseUrl`. It responds with "the database system is starting up" until `comeUp`. */
export async function startingPostgres(databaseUrl: string): Promise<StartingPostgres> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const silences: (() => unknown)[] = []
  let up = false
  let refusals = 0
  const server = createServer((client) => {
    sockets.add(client)
    client.on('error', () => {})
    if (!up) {
      client.once('data', () => {
        refusals += 1
        client.end(startingUp)
      })
      return
    }
    const upstream = connect(Number(target.port), target.hostname)
    sockets.add(upstream)
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
    client.pipe(upstream).pipe(client)
    silences.push(() => upstream.unpipe(client).resume())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
  return {
    url: url.href,
    refusals: () => refusals,
    comeUp() {
      up = true
    },
    goDown() {
      up = false
      for (const socket of sockets) socket.destroy()
      sockets.clear()
    },
    silenceConnections() {
      for (const silence of silences.splice(0)) silence()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** The ErrorResponse of the Postgres protocol with severity, SQLSTATE 57P03 (cannot_connect_now) and message. */
const startingUp = errorResponse({ S: 'FATAL', V: 'FATAL', C: '57P03', M: 'the database system is starting up' })

function errorResponse(fields: Record<string, string>): Buffer {
  const body = `${Object.entries(fields)
    .map(([field, value]) => `${field}${value}\0`)
    .join('')}\0`
  const head = Buffer.alloc(5)
  head.write('E', 0, 'latin1')
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, Buffer.from(body)])
}
