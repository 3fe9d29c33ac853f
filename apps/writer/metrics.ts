import { Gauge, type Registry } from 'prom-client'
import { gaugeOf } from '#http/metrics'
import { registerWriterMetrics } from '#telemetry-writer/metrics'
import type { GroupFigures } from './partition.ts'
import type { WrittenPartitions } from './partitions.ts'

/** Registers the metrics of the partitions that this process writes, and of its consumer group. */
export function registerGroupMetrics(
  registry: Registry,
  parts: { partitions: WrittenPartitions; isMember: () => boolean; suspendedTables: () => number },
): void {
  const { partitions, isMember, suspendedTables } = parts
  registerWriterMetrics(registry, { partitions: partitions.figures, suspendedTables, byPartition: true })
  const gauge = (name: string, help: string, read: (figures: GroupFigures) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['partition'],
      registers: [registry],
      collect() {
        this.reset()
        for (const figures of partitions.figures()) this.set({ partition: figures.partition }, read(figures))
      },
    })
  gauge('telemetry_log_lag_records', 'Reports of the partition that are not stored yet.', ({ lag }) => lag)
  gauge(
    'telemetry_log_samples',
    'Accepted samples in the partition since the topic began. Estimated for reports that were not fetched yet.',
    ({ acceptedSamples }) => acceptedSamples,
  )
  gaugeOf(registry, 'telemetry_writer_group_member', '1 while this process is a member of the consumer group.', () =>
    Number(isMember()),
  )
}
