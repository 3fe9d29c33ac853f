import type { Registry } from 'prom-client'
import { counterOf, gaugeOf } from '#http/metrics'
import type { Logger } from '#http/request-log'
import { type KafkaFailure, kafkaFailure } from '#telemetry-log/kafka/kafka-failure'
import { openKafkaLog } from '#telemetry-log/kafka/kafka-log'
import type { KafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import type { TelemetryLog } from '#telemetry-log/log'
import { noRoom } from './http/no-room.ts'
import type { Backlog } from './report/backlog.ts'
import { registerCommitMetrics } from './report/commit-metrics.ts'
import { openLargeReports } from './report/large-reports.ts'
import type { ReportStore } from './report-store.ts'

/** Opens the log on Kafka. `apps/writer` stores it, so this process has no writer. Does not wait for the brokers. */
export function openKafkaStore(parts: { settings: KafkaSettings; registry: Registry; logger: Logger }): ReportStore {
  const { settings, registry, logger } = parts
  const counted = { samples: 0, failures: 0 }
  let problem: KafkaFailure | undefined
  const kafka = openKafkaLog(settings, {
    onFailure(error) {
      counted.failures += 1
      logger.warn({ detail: kafkaFailure(error).detail }, 'kafka_unavailable')
    },
    onUnprepared(error) {
      const found = kafkaFailure(error)
      // It is tried twice a second. Each cause is logged once.
      if (found.reason !== problem?.reason) logger.warn({ detail: found.detail }, 'kafka_unavailable')
      problem = found
    },
  })
  const log: Pick<TelemetryLog, 'append'> = {
    async append(batch) {
      await kafka.append(batch)
      counted.samples += batch.sampleCount
    },
  }
  const failed = Promise.withResolvers<Error>()
  const large = openLargeReports(0, failed.resolve)

  const acceptedHelp = 'Samples that the brokers acknowledged, since the start.'
  counterOf(registry, 'telemetry_samples_accepted_total', acceptedHelp, () => counted.samples)
  const failuresHelp = 'Groups of reports that the brokers did not acknowledge.'
  counterOf(registry, 'telemetry_log_failures_total', failuresHelp, () => counted.failures)
  gaugeOf(
    registry,
    'telemetry_log_queue_bytes',
    'Bytes of reports that wait for the brokers.',
    () => kafka.queue().bytes,
  )
  registerCommitMetrics(registry, kafka.commits)
  return {
    log,
    backlog: queueBacklog(() => kafka.queue().isFull),
    large,
    whyNotReady: () =>
      kafka.isPrepared() ? undefined : (problem?.reason ?? 'Kafka has not accepted the producer yet.'),
    failed: failed.promise,
    confirmation: () => () => {},
    awaitMoments: () => {},
    async close() {
      await kafka.drain()
      await large.close()
      await kafka.close()
    },
  }
}

/** Kafka keeps reports for a time and not up to a size, so only the queue of this process can be full. */
const queueBacklog = (isFull: () => boolean): Backlog => ({
  admit() {
    if (isFull()) throw noRoom()
  },
  figures: () => ({ waitingBytes: 0, logBytes: 0, budgetBytes: 0 }),
  isFull,
  measure() {},
})
