import type { Server } from 'node:http'
import { NotReadyError } from '#http/health'
import { createHttpMetrics } from '#http/metrics'
import { createOperationsServer } from '#http/operations-server'
import type { Logger } from '#http/request-log'
import type { GatewayConfig } from './config.ts'
import { createDelivery } from './delivery.ts'
import { createGatewayMetrics } from './metrics.ts'
import { startMqttGateway } from './mqtt/mqtt-gateway.ts'
import { openServiceClient } from './service-client.ts'
import { startReceiverServer } from './tcp/receiver-server.ts'

type RunningGateway = { server: Server; stop(): Promise<void> }

/** Connects to the broker and listens for receivers, as configured. The returned server does not listen yet. */
export async function startGateway(
  config: GatewayConfig,
  logger: Logger,
  isStopping: () => boolean,
): Promise<RunningGateway> {
  const { registry } = createHttpMetrics()
  const service = openServiceClient(config.SERVICE_URL, config.GATEWAY_KEY)
  const delivery = createDelivery()
  const metrics = createGatewayMetrics(registry, {
    waitingMessages: () => broker?.window.messages() ?? 0,
    waitingBytes: () => broker?.window.bytes() ?? 0,
    overRateMessages: () => broker?.overRateMessages() ?? 0,
    retries: delivery.retries,
    ...(config.MQTT_URL !== undefined && { isBrokerConnected: () => broker?.isReceiving() ?? false }),
    tcpConnections: () => receivers?.connections() ?? 0,
  })
  const parts = { config, service, delivery, metrics, nowMs: Date.now, logger }
  const broker = config.MQTT_URL === undefined ? undefined : startMqttGateway(parts)
  const receivers = config.NMEA_PORT === undefined ? undefined : await startReceiverServer(parts, config.NMEA_PORT)

  const server = createOperationsServer({
    registry,
    isStopping,
    checks: [
      {
        name: 'broker',
        async check() {
          if (broker && !broker.isReceiving())
            throw new NotReadyError('The broker is not connected, or refuses all topics.')
        },
      },
      {
        name: 'service',
        async check() {
          const problem = delivery.problem()
          if (problem !== undefined) throw new NotReadyError(problem)
        },
      },
    ],
  })
  return {
    server,
    async stop() {
      await receivers?.close()
      await broker?.close()
      await service.close()
    },
  }
}
