import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import type { Logger } from '#http/request-log'
import type { GatewayConfig } from '../config.ts'
import type { Delivery } from '../delivery.ts'
import type { GatewayMetrics } from '../metrics.ts'
import { createRecentMoments } from '../moments.ts'
import type { ServiceClient } from '../service-client.ts'
import { readReceiver } from './receiver.ts'

type Parts = {
  config: GatewayConfig
  service: ServiceClient
  delivery: Delivery
  metrics: GatewayMetrics
  nowMs: () => number
  logger: Logger
}

export type ReceiverServer = { connections(): number; close(): Promise<void> }

/** Listens for receivers that send NMEA sentences, objects of gpsd or lines of Cradlepoint routers. */
export async function startReceiverServer(parts: Parts, port: number): Promise<ReceiverServer> {
  const { config, logger } = parts
  const receivers = new Map<Socket, Promise<void>>()
  const recentOf = createRecentMoments()
  const server = createServer((socket) => {
    const address = socket.remoteAddress?.replace(/^::ffff:/, '') ?? ''
    const read = readReceiver(socket, { ...parts, recentOf, configured: config.NMEA_SOURCES?.get(address) })
    receivers.set(
      socket,
      read.finally(() => receivers.delete(socket)),
    )
  })
  server.maxConnections = config.NMEA_MAX_CONNECTIONS
  server.on('drop', () => parts.metrics.count('tcp', 'unknown', 'refused', 'connections'))
  server.listen(port, config.NMEA_HOST)
  await once(server, 'listening')
  logger.info({ address: server.address() }, 'receivers_listening')
  return {
    connections: () => receivers.size,
    async close() {
      const ended = new Promise((resolve) => server.close(resolve))
      for (const socket of receivers.keys()) socket.destroySoon()
      await Promise.all([ended, ...receivers.values()])
    },
  }
}
