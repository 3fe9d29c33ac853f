import { Counter, Gauge, type Registry } from 'prom-client'
import { registerCleaningMetrics } from '#telemetry-writer/reports/cleaning-metrics'
import { sendReasons } from '#telemetry-writer/store/sent-rows'
import type { PartitionFigures, WrittenPartition } from './partition.ts'
import type { Questdb } from './questdb.ts'

type Written = PartitionFigures & { partition: number }

/** Registers the metrics of the partitions that this process writes. Sample counts are totals since the topic began. */
export function registerWriterMetrics(
  registry: Registry,
  {
    partitions,
    isMember,
    questdb,
  }: { partitions: () => readonly WrittenPartition[]; isMember: () => boolean; questdb: Questdb },
): void {
  const written = (): Written[] =>
    partitions().flatMap(({ partition, figures }) => {
      const found = figures()
      return found ? [{ ...found, partition }] : []
    })
  const metric = (
    kind: typeof Counter | typeof Gauge,
    name: string,
    help: string,
    read: (figures: Written) => number,
  ) => {
    new kind({
      name,
      help,
      labelNames: ['partition'],
      registers: [registry],
      collect() {
        this.reset()
        for (const figures of written()) this.inc({ partition: figures.partition }, read(figures))
      },
    })
  }
  metric(Gauge, 'telemetry_log_lag_records', 'Reports of the partition that are not stored yet.', ({ lag }) => lag)
  metric(Counter, 'telemetry_samples_stored_total', 'Samples stored as a new row.', ({ checkpoint }) => {
    return checkpoint.counts.stored
  })
  metric(
    Counter,
    'telemetry_samples_replaced_total',
    'Samples that replaced an earlier one of the same device, kind and millisecond.',
    ({ checkpoint }) => checkpoint.counts.replaced,
  )
  metric(
    Counter,
    'telemetry_samples_dead_lettered_total',
    'Samples kept in dead-letter/ because they could not be stored or read back.',
    ({ checkpoint }) => checkpoint.counts.deadLettered,
  )
  metric(Counter, 'telemetry_batches_stored_total', 'Flushes to QuestDB since the start.', ({ batches }) => batches)
  metric(Counter, 'telemetry_store_retries_total', 'Retries because QuestDB or Kafka did not respond.', (figures) => {
    return figures.retries
  })
  metric(Counter, 'telemetry_log_damages_total', 'Records that are not reports, and gaps.', ({ damages }) => damages)
  metric(Counter, 'telemetry_replays_total', 'Replays after a restart of QuestDB.', ({ replays }) => replays)
  new Counter({
    name: 'telemetry_rows_sent_total',
    help: 'Rows sent to QuestDB since the start of the process, by reason.',
    labelNames: ['reason', 'partition'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { partition, rowsSent } of written())
        for (const reason of sendReasons) this.inc({ reason, partition }, rowsSent[reason])
    },
  })
  registerCleaningMetrics(registry, () => written().flatMap(({ cleaned }) => cleaned))
  new Gauge({
    name: 'telemetry_suspended_tables',
    help: 'Tables whose writes QuestDB accepts but does not apply.',
    registers: [registry],
    collect() {
      this.set(questdb.watch.suspendedTables())
    },
  })
  new Gauge({
    name: 'telemetry_writer_group_member',
    help: '1 while this process is a member of the consumer group.',
    registers: [registry],
    collect() {
      this.set(isMember() ? 1 : 0)
    },
  })
}
