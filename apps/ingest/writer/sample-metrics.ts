import type { Registry } from 'prom-client'
import { counterOf, gaugeOf } from '#http/metrics'
import { type Lease, leaseAgeMs } from '#telemetry-log/lock/lease'
import { registerWriterMetrics, settledSamples } from '#telemetry-writer/metrics'
import type { Backlog } from '../report/backlog.ts'
import { registerCommitMetrics } from '../report/commit-metrics.ts'
import type { PartitionInThread, Writers } from './writers.ts'

/** Registers the metrics of accepted samples and of their log. Each figure is the total of all partitions. */
export function registerSampleMetrics(
  registry: Registry,
  { lease, writers, backlog }: { lease: Lease; writers: Writers; backlog: Backlog },
): void {
  const { partitions } = writers
  const sumOf = (read: (partition: PartitionInThread) => number) =>
    partitions.reduce((sum, partition) => sum + read(partition), 0)
  counterOf(registry, 'telemetry_samples_accepted_total', 'Samples in the durable log since it began.', () =>
    sumOf(({ log, writer }) => Math.max(log.tail().samples, settledSamples(writer.progress()))),
  )
  registerWriterMetrics(registry, {
    partitions: () =>
      partitions.map(({ log, writer }, partition) => ({
        ...writer.progress(),
        partition,
        acceptedSamples: log.tail().samples,
      })),
    suspendedTables: () => Math.max(...partitions.map(({ writer }) => writer.progress().suspendedTables)),
    byPartition: false,
  })
  registerLogMetrics(registry, { lease, queueBytes: () => sumOf(({ log }) => log.queue().bytes), backlog })
  registerCommitMetrics(registry, () => ({
    count: sumOf(({ log }) => log.commits().count),
    seconds: sumOf(({ log }) => log.commits().seconds),
  }))
}

function registerLogMetrics(
  registry: Registry,
  { lease, queueBytes, backlog }: { lease: Lease; queueBytes: () => number; backlog: Backlog },
): void {
  const gauge = (name: string, help: string, read: () => number) => gaugeOf(registry, name, help, read)
  gauge('telemetry_backlog_bytes', 'Bytes of the log that are not stored yet.', () => backlog.figures().waitingBytes)
  gauge(
    'telemetry_log_bytes',
    'Bytes of all files of the log: not stored yet, kept for a replay, and dead letters.',
    () => backlog.figures().logBytes,
  )
  gauge(
    'telemetry_backlog_budget_bytes',
    'Maximum bytes of the log. Above 70 %, devices over their fair share get 429. Above 90 %, all devices get 503.',
    () => backlog.figures().budgetBytes,
  )
  gauge('telemetry_log_queue_bytes', 'Bytes of reports that wait for a sync of the log.', queueBytes)
  gauge(
    'telemetry_log_lock_age_seconds',
    'Time since the lock of the log was confirmed. Above 6, another process may take over.',
    () => leaseAgeMs(lease) / 1_000,
  )
}
