import { Counter, Gauge, type Registry } from 'prom-client'
import { gaugeOf } from '#http/metrics'
import type { PartitionFigures } from './open-partition.ts'
import { registerCleaningMetrics } from './reports/cleaning-metrics.ts'
import { sendReasons } from './store/activity.ts'

/** A partition as a scrape sees it. `acceptedSamples`: samples in its log since the log began. */
export type WrittenFigures = PartitionFigures & { partition: number; acceptedSamples: number }

type Series = [
  kind: typeof Counter | typeof Gauge,
  name: string,
  help: string,
  read: (figures: WrittenFigures) => number,
]

/**
 * At every scrape and across restarts, accepted = stored + replaced + dead-lettered + backlog, because all are counted from
 * the log.
 */
const series: Series[] = [
  [Gauge, 'telemetry_backlog_samples', 'Accepted samples that are not stored yet.', backlogSamples],
  [Counter, 'telemetry_samples_stored_total', 'Samples stored as a new row.', ({ counts }) => counts.stored],
  [
    Counter,
    'telemetry_samples_replaced_total',
    'Samples that replaced an earlier one of the same device, kind and millisecond.',
    ({ counts }) => counts.replaced,
  ],
  [
    Counter,
    'telemetry_samples_dead_lettered_total',
    'Samples kept in dead-letter/ because they could not be stored or read back.',
    ({ counts }) => counts.deadLettered,
  ],
  [Counter, 'telemetry_batches_stored_total', 'Flushes to QuestDB since the start.', ({ batches }) => batches],
  [Counter, 'telemetry_store_retries_total', 'Retries because QuestDB or Kafka failed.', ({ retries }) => retries],
  [
    Counter,
    'telemetry_log_damages_total',
    'Damaged parts of the log, whose bytes are in dead-letter/. With Kafka: records that are not reports, and gaps.',
    ({ damages }) => damages,
  ],
  [Counter, 'telemetry_replays_total', 'Replays after a restart of QuestDB.', ({ replays }) => replays],
  [
    Counter,
    'telemetry_states_restored_total',
    'States of devices read from QuestDB, because neither memory nor the files of the log had them.',
    ({ statesRestored }) => statesRestored,
  ],
]

/** Returns the number of samples whose outcome is known. */
export const settledSamples = ({ counts }: Pick<PartitionFigures, 'counts'>): number =>
  counts.stored + counts.replaced + counts.deadLettered

function backlogSamples(figures: WrittenFigures): number {
  return Math.max(0, figures.acceptedSamples - settledSamples(figures))
}

/**
 * Registers the metrics of the partitions that this process writes. With `byPartition`, each has its own series, because
 * other processes write other partitions; otherwise each figure is the total.
 */
export function registerWriterMetrics(
  registry: Registry,
  parts: { partitions: () => readonly WrittenFigures[]; suspendedTables: () => number; byPartition: boolean },
): void {
  const { partitions, suspendedTables, byPartition } = parts
  const labelNames = byPartition ? ['partition'] : []
  const labelsOf = ({ partition }: WrittenFigures) => (byPartition ? { partition } : {})
  const registers = [registry]
  for (const [Kind, name, help, read] of series)
    new Kind({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset()
        for (const figures of partitions()) this.inc(labelsOf(figures), read(figures))
      },
    })
  new Counter({
    name: 'telemetry_rows_sent_total',
    help: 'Rows sent to QuestDB since the start of the process, by reason.',
    labelNames: ['reason', ...labelNames],
    registers,
    collect() {
      this.reset()
      for (const figures of partitions())
        for (const reason of sendReasons) this.inc({ reason, ...labelsOf(figures) }, figures.rowsSent[reason])
    },
  })
  registerCleaningMetrics(registry, () => partitions().flatMap(({ cleaned }) => cleaned))
  const suspendedHelp = 'Tables whose writes QuestDB accepts but does not apply.'
  gaugeOf(registry, 'telemetry_suspended_tables', suspendedHelp, suspendedTables)
}
