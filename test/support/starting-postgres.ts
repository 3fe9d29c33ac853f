import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A proxy to Postgres that first behaves like a server that is starting up. */
export type StartingPostgres = {
  url: string
  refusals(): number
  comeUp(): void
  /** Closes all connections and refuses new ones until `comeUp`. */
  goDown(): void
  /**
   * Closes all connections: a pool would listen on another one that is open. Until `comeUp`, each new connection is lost with
   * the response that says that it is ready.
   */
  loseConnections(): void
  losses(): number
  /** How many connections listen. One that is lost before the response to LISTEN need not be opened again. */
  listeners(): number
  /** Stops forwarding responses on the open connections, but keeps them open. */
  silenceConnections(): void
  close(): void
}

/** Starts a proxy for `databaseUrl`. It responds with "the database system is starting up" until `comeUp`. */
export async function startingPostgres(databaseUrl: string): Promise<StartingPostgres> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const listeners = new Set<Socket>()
  const silences: (() => unknown)[] = []
  let up = false
  let losesNew = false
  let refusals = 0
  let losses = 0
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
    upstream.on('data', (bytes: Buffer) => {
      if (bytes.includes(listening)) listeners.add(client)
    })
    client.pipe(upstream)
    if (losesNew) {
      upstream.on('data', (bytes: Buffer) => {
        if (!bytes.subarray(-ready.length).equals(ready)) return client.write(bytes)
        losses += 1
        client.end(Buffer.concat([bytes, terminated]))
      })
      return
    }
    upstream.pipe(client)
    silences.push(() => upstream.unpipe(client).resume())
  }).listen(0, '127.0.0.1')
  function closeAll() {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
    listeners.clear()
  }
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
  return {
    url: url.href,
    refusals: () => refusals,
    comeUp() {
      up = true
      losesNew = false
    },
    loseConnections() {
      losesNew = true
      closeAll()
    },
    losses: () => losses,
    listeners: () => listeners.size,
    goDown() {
      up = false
      closeAll()
    },
    silenceConnections() {
      for (const silence of silences.splice(0)) silence()
    },
    close() {
      closeAll()
      server.close()
    },
  }
}

/** The ErrorResponse of the Postgres protocol with severity, SQLSTATE 57P03 (cannot_connect_now) and message. */
const startingUp = errorResponse({ S: 'FATAL', V: 'FATAL', C: '57P03', M: 'the database system is starting up' })

/** The same with SQLSTATE 57P01 (admin_shutdown), which a server process sends when the main process was killed. */
const terminated = errorResponse({ S: 'FATAL', V: 'FATAL', C: '57P01', M: 'terminating connection' })
/** The end of the message CommandComplete of LISTEN. */
const listening = Buffer.from('LISTEN\0')
/** The message ReadyForQuery, outside of a transaction. */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

function errorResponse(fields: Record<string, string>): Buffer {
  const body = `${Object.entries(fields)
    .map(([field, value]) => `${field}${value}\0`)
    .join('')}\0`
  const head = Buffer.alloc(5)
  head.write('E', 0, 'latin1')
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, Buffer.from(body)])
}
