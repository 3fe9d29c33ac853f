import type { Server } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Server as NetServer } from 'node:net'

/** HTTP servers that listen on the same address and behave as one. */
export type HttpServer = {
  address(): AddressInfo
  /** Accepts no more connections; calls `done` when all are closed. */
  close(done?: () => void): void
  closeIdleConnections(): void
  closeAllConnections(): void
  /** How many connections are open. */
  connections(): number
  /** Calls `listener` for every connection that was closed at once since `maxConnections` were open. */
  onRefused(listener: () => void): void
}

export type Address = {
  host: string
  port: number
  /** Further connections are closed at once. */
  maxConnections?: number | undefined
  /** Other processes of the same user may listen on the port, and the kernel divides new connections between them. */
  isShared?: boolean
}

/**
 * libuv accepts one connection per listening socket and turn of the event loop. With one socket a turn of 10 ms allows
 * 100 new connections a second, and a client that opens more keeps all others waiting. The kernel spreads connections
 * over several sockets of one port.
 */
const socketsPerPort = 32
// macOS and Windows have no port that several sockets share.
const unsupported: ReadonlySet<string | undefined> = new Set(['ENOTSUP', 'ENOPROTOOPT', 'EINVAL', 'ENOSYS'])

/**
 * Makes servers listen on an address. Rejects when another process has it, unless both share it, and when the address is to
 * be shared but the system does not support it.
 */
export async function listenTogether(makeServer: () => Server, address: Address): Promise<HttpServer> {
  const { host, maxConnections = Number.POSITIVE_INFINITY, isShared = false } = address
  const port = isShared && address.port !== 0 ? address.port : await freePort(address)
  const servers: Server[] = []
  const refusals: (() => void)[] = []
  let connections = 0

  const add = async (reusePort: boolean): Promise<void> => {
    const server = makeServer()
    server.on('connection', (socket) => {
      if (connections >= maxConnections) {
        socket.destroy()
        for (const refused of refusals) refused()
        return
      }
      connections++
      socket.once('close', () => connections--)
    })
    await listen(server, { host, port, reusePort })
    servers.push(server)
  }
  try {
    for (let index = 0; index < socketsPerPort; index++) await add(true)
  } catch (error) {
    for (const server of servers.splice(0)) server.close()
    if (!unsupported.has((error as NodeJS.ErrnoException).code)) throw error
    if (isShared) throw new Error(`This system cannot share port ${port} between processes.`, { cause: error })
    await add(false)
  }
  return {
    address: () => ({ address: host, family: host.includes(':') ? 'IPv6' : 'IPv4', port }),
    close(done) {
      let open = servers.length
      for (const server of servers) {
        server.close(() => {
          open--
          if (open === 0) done?.()
        })
      }
    },
    closeIdleConnections: () => {
      for (const server of servers) server.closeIdleConnections()
    },
    closeAllConnections: () => {
      for (const server of servers) server.closeAllConnections()
    },
    connections: () => connections,
    onRefused: (listener) => void refusals.push(listener),
  }
}

/** The port, or a free one for 0. Sockets that share a port do not notice another process that shares its own. */
async function freePort({ host, port }: Address): Promise<number> {
  const probe = createNetServer()
  await listen(probe, { host, port })
  const found = (probe.address() as AddressInfo).port
  await new Promise((resolve) => probe.close(resolve))
  return found
}

function listen(server: NetServer, options: { host: string; port: number; reusePort?: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
