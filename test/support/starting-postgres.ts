import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A way to a Postgres that first answers like one that is still coming up. */
export type StartingPostgres = {
  url: string
  refusals(): number
  comeUp(): void
  /** Cuts all connections and refuses further ones until told to come up. */
  goDown(): void
  /** Passes no more answers on through the connections there are, and keeps them open. */
  silenceConnections(): void
  close(): void
}

/** Listens before `databaseUrl` as a proxy: refuses with "the database system is starting up" until told to come up. */
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

/** ErrorResponse of the Postgres protocol with severity, SQLSTATE 57P03 (cannot_connect_now) and text. */
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
