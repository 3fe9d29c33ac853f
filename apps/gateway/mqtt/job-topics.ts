import { type DeviceIdentity, identityHeader } from '#device-edge/gateway'
import type { Delivery } from '../delivery.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { ServiceClient } from '../service-client.ts'
import type { Broker, Message } from './broker.ts'
import type { RateLines } from './rate-lines.ts'
import { reasonCodeOf, success } from './reason-codes.ts'
import { deviceOfLevel } from './topic-level.ts'

const topicForm = /^routerfleet\/([^/]+)\/jobs\/(?:(next)|([^/]+)\/status)$/

/** The topics on which devices ask for jobs and report on them. */
export const jobFilters = ['routerfleet/+/jobs/next', 'routerfleet/+/jobs/+/status'] as const

type Parts = {
  service: Pick<ServiceClient, 'nextJob' | 'reportJob'>
  delivery: Delivery
  rateLines: RateLines
  metrics: Pick<GatewayMetrics, 'count' | 'jobOffered'>
  publish: Broker['publish']
}

export type JobTopics = {
  /** Returns undefined for another topic. */
  handle(message: Message, signal: AbortSignal): Promise<number | undefined> | undefined
  /** Publishes the next job of a device that has just sent a message. `level`: the level of its topics. */
  offer(level: string, device: DeviceIdentity, signal: AbortSignal): Promise<void>
}

/**
 * Creates the job channel. A job is taken only when its device has sent a message, because the broker does not say which
 * devices are connected, and a taken job must be reported before its deadline. Until the device reports, the same job and
 * attempt is published again with each request.
 */
export function createJobTopics({ service, delivery, rateLines, metrics, publish }: Parts): JobTopics {
  const offering = new Map<string, Promise<void>>()

  async function offerOnce(level: string, device: DeviceIdentity, signal: AbortSignal): Promise<void> {
    const taken = await delivery.deliver((until) => service.nextJob(device, until), signal)
    if (taken?.answer.status !== 200 || signal.aborted) return
    await publish(`routerfleet/${level}/jobs`, JSON.stringify(taken.answer.body))
    metrics.jobOffered()
  }

  function offer(level: string, device: DeviceIdentity, signal: AbortSignal): Promise<void> {
    const running = offering.get(level)
    if (running) return running
    const started = offerOnce(level, device, signal).finally(() => offering.delete(level))
    offering.set(level, started)
    return started
  }

  async function reportStatus(
    { level, jobId, device }: { level: string; jobId: string; device: DeviceIdentity },
    { payload, correlationData }: Message,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const delivered = await rateLines.deliver({
      // Not behind the telemetry of the device.
      owner: `${identityHeader(device)} jobs`,
      bytes: payload.length,
      call: (until) => service.reportJob(device, jobId, payload, until),
      signal,
    })
    metrics.count('mqtt', 'jobs', delivered?.outcome ?? 'abandoned', delivered && String(delivered.answer.status))
    if (!delivered) return undefined
    const { status, body } = delivered.answer
    await publish(`routerfleet/${level}/jobs/${jobId}/answer`, answerText(status, body), correlationData)
    // A job that has ended may be followed by another.
    if (isEnd(payload)) void offer(level, device, signal)
    return reasonCodeOf(delivered)
  }

  return {
    offer,
    handle(message, signal) {
      const [, level = '', next, jobId = ''] = topicForm.exec(message.topic) ?? []
      const device = deviceOfLevel('serial', level)
      if (!device) return undefined
      // The offer that is being made is also the answer to this message.
      if (next && offering.has(level)) return Promise.resolve(success)
      if (next) return offer(level, device, signal).then(() => (signal.aborted ? undefined : success))
      return reportStatus({ level, jobId, device }, message, signal)
    },
  }
}

/** The answer of the service with its status, as devices read it. */
export const answerText = (status: number, body: unknown): string =>
  JSON.stringify({ ...(typeof body === 'object' ? body : {}), httpStatus: status })

const isEnd = (payload: Buffer): boolean => !payload.includes('"inProgress"')
