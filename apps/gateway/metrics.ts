import { Counter, type Registry } from 'prom-client'
import { gaugeOf } from '#http/metrics'

/** The ways in which a message can end. */
type MessageOutcome = 'accepted' | 'refused' | 'ignored' | 'abandoned'

export type GatewayMetrics = {
  /** Counts a message. `reason`: the code of a refusal. */
  count(transport: 'mqtt' | 'tcp', protocol: string, outcome: MessageOutcome, reason?: string): void
  reconnected(): void
  jobOffered(): void
}

export type GatewayFigures = {
  waitingMessages(): number
  waitingBytes(): number
  overRateMessages(): number
  retries(): number
  /** Missing without a broker. */
  isBrokerConnected?: () => boolean
  tcpConnections(): number
}

/** Registers the metrics of the gateway. Figures are read at a scrape. */
export function createGatewayMetrics(registry: Registry, figures: GatewayFigures): GatewayMetrics {
  const messages = new Counter({
    name: 'gateway_messages_total',
    help: 'Messages by outcome. accepted: the service has them durably. refused, ignored: acknowledged and dropped. abandoned: the broker delivers them again.',
    labelNames: ['transport', 'protocol', 'outcome', 'reason'],
    registers: [registry],
  })
  const connects = new Counter({
    name: 'gateway_broker_connections_total',
    help: 'Connections to the broker.',
    registers: [registry],
  })
  const jobs = new Counter({
    name: 'gateway_jobs_offered_total',
    help: 'Jobs published to devices.',
    registers: [registry],
  })
  const gauge = (name: string, help: string, read: () => number) => gaugeOf(registry, name, help, read)
  gauge('gateway_waiting_messages', 'Messages that the service has not accepted yet.', figures.waitingMessages)
  gauge('gateway_waiting_bytes', 'Bytes of these messages.', figures.waitingBytes)
  const overRate = 'Messages among these whose device is over its rate.'
  gauge('gateway_over_rate_messages', overRate, figures.overRateMessages)
  const { isBrokerConnected } = figures
  if (isBrokerConnected) {
    const help = 'Whether the broker is connected and has granted subscriptions.'
    gauge('gateway_broker_connected', help, () => Number(isBrokerConnected()))
  }
  gauge('gateway_tcp_connections', 'Open connections of receivers.', figures.tcpConnections)
  gauge('gateway_retries', 'Calls to the service that were repeated, since the start.', figures.retries)
  return {
    count: (transport, protocol, outcome, reason = '') => messages.inc({ transport, protocol, outcome, reason }),
    reconnected: () => connects.inc(),
    jobOffered: () => jobs.inc(),
  }
}
