import { maxReportBytes } from '#device-edge/contract'
import { type DeviceIdentity, identityHeader } from '#device-edge/gateway'
import { type Delivered, outcomeOf } from '../delivery.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { ServiceClient } from '../service-client.ts'
import type { Message } from './broker.ts'
import { createLineCollections } from './line-collections.ts'
import type { RateLines } from './rate-lines.ts'
import { reasonCodeOf, unspecified } from './reason-codes.ts'
import { createReceipts } from './receipts.ts'
import { compileTopic, type TopicMatch, type TopicRule } from './topic-rules.ts'
import { createValueCollections } from './value-collections.ts'

/** A message of telemetry that the service has answered. */
export type AnsweredReport = { match: TopicMatch; rule: TopicRule; message: Message; delivered: Delivered }

type Parts = {
  rules: readonly TopicRule[]
  service: Pick<ServiceClient, 'report'>
  rateLines: RateLines
  metrics: Pick<GatewayMetrics, 'count'>
  nowMs: () => number
  onAnswered: (report: AnsweredReport) => void
}

/**
 * Creates the handler of telemetry topics. It returns undefined for another topic. The handling resolves with the reason code
 * when the service has the report durably, or has refused it.
 */
export function createTelemetryTopics({ rules, service, rateLines, metrics, nowMs, onAnswered }: Parts) {
  const compiled = rules.map((rule) => ({ rule, matches: compileTopic(rule) }))
  const receivedAt = createReceipts(nowMs)
  const values = createValueCollections(nowMs)
  const lines = createLineCollections(nowMs)

  async function report(
    { device }: { device: DeviceIdentity },
    rule: TopicRule,
    body: Buffer,
    message: Message,
    signal: AbortSignal,
  ): Promise<Delivered | undefined> {
    const { protocol } = rule
    const send = (sent: Buffer, receivedAtMs: number) =>
      rateLines.deliver({
        owner: identityHeader(device),
        bytes: sent.length,
        call: (until) => service.report({ device, protocol, body: sent, receivedAtMs }, until),
        signal,
      })
    const { topic, payload, isRepeated } = message
    const together = values.deliver(device, rule, message, body, send) ?? lines.deliver(device, rule, body, send)
    const delivered = await (together ?? send(body, receivedAt(topic, payload, isRepeated)))
    const { outcome, reason } = outcomeOf(delivered)
    metrics.count('mqtt', protocol, outcome, reason)
    return delivered
  }

  return (message: Message, signal: AbortSignal): Promise<number | undefined> | undefined => {
    for (const { rule, matches } of compiled) {
      const match = matches(message.topic)
      if (!match) continue
      // Without a request: the service would only refuse it.
      if (message.payload.length > maxReportBytes) {
        metrics.count('mqtt', rule.protocol, 'refused', 'body_too_large')
        return Promise.resolve(unspecified)
      }
      const body = rule.parameter ? parameterBody(match, message.payload) : message.payload
      return report(match, rule, body, message, signal).then((delivered) => {
        if (!delivered) return undefined
        onAnswered({ match, rule, message, delivered })
        return reasonCodeOf(delivered)
      })
    }
    return undefined
  }
}

/** The value of one parameter, as an adapter reads it. */
const parameterBody = ({ parameter = '' }: TopicMatch, payload: Buffer): Buffer =>
  Buffer.from(JSON.stringify({ mqtt: { [parameter]: payload.toString('utf8') } }))
