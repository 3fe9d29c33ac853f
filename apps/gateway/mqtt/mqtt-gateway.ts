import type { Logger } from '#http/request-log'
import type { GatewayConfig } from '../config.ts'
import type { Delivery } from '../delivery.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { ServiceClient } from '../service-client.ts'
import { type Broker, connectBroker, type Message, maxWaitingBytes } from './broker.ts'
import { answerText, createJobTopics, jobFilters } from './job-topics.ts'
import { createRateLines } from './rate-lines.ts'
import { invalidTopic, success, unspecified } from './reason-codes.ts'
import { type AnsweredReport, createTelemetryTopics } from './telemetry-topics.ts'
import { filterOf, telemetryTopics } from './topic-rules.ts'

type Parts = {
  config: GatewayConfig
  service: ServiceClient
  delivery: Delivery
  metrics: GatewayMetrics
  nowMs: () => number
  logger: Logger
}

export type MqttGateway = Broker & {
  /** Returns the number of messages that wait because their device is over its rate. */
  overRateMessages(): number
}

/** Connects telemetry and jobs to the broker. */
export function startMqttGateway({ config, service, delivery, metrics, nowMs, logger }: Parts): MqttGateway {
  const rules = [...telemetryTopics, ...(config.MQTT_TOPICS ?? [])]
  const closing = new AbortController()
  const publish: Broker['publish'] = (...message) => broker.publish(...message)
  // The other half of the window is for devices within their rate.
  const room = { messages: Math.ceil(config.MQTT_RECEIVE_MAXIMUM / 2), bytes: maxWaitingBytes / 2 }
  const rateLines = createRateLines(delivery, room, nowMs)
  const jobs = createJobTopics({ service, delivery, rateLines, metrics, publish })
  const telemetry = createTelemetryTopics({ rules, service, rateLines, metrics, nowMs, onAnswered })

  /** Tells a device of our own format what the service has answered, if it asks for it, and offers a waiting job. */
  function onAnswered({ match, rule, message, delivered }: AnsweredReport): void {
    if (rule.protocol !== 'routerfleet') return
    const { level, device } = match
    const { status, body, isOverRate } = delivered.answer
    const { responseTopic, correlationData } = message
    // A device must not make the gateway publish to the topics of another device.
    if (responseTopic?.startsWith(`routerfleet/${level}/`)) {
      // A flood must not cause as many acknowledged messages.
      void publish(responseTopic, answerText(status, body), correlationData, isOverRate ? 0 : 1)
    }
    if (hasJobs(body)) void jobs.offer(level, device, closing.signal)
  }

  async function handle(message: Message, signal: AbortSignal): Promise<number | undefined> {
    try {
      // Without a time of its own, it would be stored with the present one.
      if (message.isRetained) {
        metrics.count('mqtt', 'unknown', 'ignored', 'retained')
        return success
      }
      const handled = jobs.handle(message, signal) ?? telemetry(message, signal)
      if (handled) return await handled
      metrics.count('mqtt', 'unknown', 'ignored', 'topic')
      return invalidTopic
    } catch (error) {
      // Delivered again, it would fail again.
      logger.error({ error: error instanceof Error ? error.name : undefined }, 'message_failed')
      metrics.count('mqtt', 'unknown', 'refused', 'internal')
      return unspecified
    }
  }

  const share = config.MQTT_SHARED_GROUP === undefined ? '' : `$share/${config.MQTT_SHARED_GROUP}/`
  const filters = [...new Set([...rules.map(filterOf), ...jobFilters])].map((filter) => share + filter)
  const broker = connectBroker({ config, filters, handle, onConnect: metrics.reconnected, logger })
  return {
    ...broker,
    overRateMessages: rateLines.waiting,
    async close() {
      await broker.close()
      closing.abort()
    },
  }
}

const hasJobs = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'jobsPending' in body && Number(body.jobsPending) > 0
