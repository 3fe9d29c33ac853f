import { Counter, Gauge, type Registry } from 'prom-client'
import { gaugeOf } from '#http/metrics'
import type { PartitionFigures } from './open-partition.ts'
import { sendReasons } from './store/activity.ts'

/** A partition as a scrape sees it. `acceptedSamples`: samples in its log since the log began. */
export type WrittenFigures = PartitionFigures & { partition: number; acceptedSamples: number }

type Kind = typeof Counter | typeof Gauge
type Series = [kind: Kind, name: string, help: string, read: (figures: WrittenFigures) => number]

/** Values of a partition with their labels. */
type LabelledValues = (figures: WrittenFigures) => [labels: Record<string, string | number>, value: number][]

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
  /** Registers a metric with the values of all partitions, which add up where their labels are the same. */
  function register(Kind: Kind, name: string, help: string, labelNames: string[], read: LabelledValues): void {
    new Kind({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset()
        for (const figures of partitions()) for (const [labels, value] of read(figures)) this.inc(labels, value)
      },
    })
  }
  for (const [kind, name, help, read] of series)
    register(kind, name, help, labelNames, (figures) => [[labelsOf(figures), read(figures)]])
  const rowsHelp = 'Rows sent to QuestDB since the start of the process, by reason.'
  register(Counter, 'telemetry_rows_sent_total', rowsHelp, ['reason', ...labelNames], (figures) =>
    sendReasons.map((reason) => [{ reason, ...labelsOf(figures) }, figures.rowsSent[reason]]),
  )
  const cleanedHelp = 'Values of fields that were set to null, by kind, field and reason.'
  register(Counter, 'telemetry_fields_cleaned_total', cleanedHelp, ['kind', 'field', 'reason'], ({ cleaned }) =>
    cleaned.map(({ count, ...labels }) => [labels, count]),
  )
  const suspendedHelp = 'Tables whose writes QuestDB accepts but does not apply.'
  gaugeOf(registry, 'telemetry_suspended_tables', suspendedHelp, suspendedTables)
}
