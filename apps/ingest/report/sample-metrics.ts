import { Counter, Gauge, type Registry } from 'prom-client'
import { type Lease, leaseAgeMs } from '#telemetry-log/lock/lease'
import { registerCleaningMetrics } from '#telemetry-writer/reports/cleaning-metrics'
import { sendReasons } from '#telemetry-writer/store/sent-rows'
import type { Writers, WrittenPartition } from '../writer/writers.ts'
import type { Backlog } from './backlog.ts'
import { counterOf } from './report-metrics.ts'

/**
 * Registers the metrics of accepted samples. At every scrape and across restarts, accepted = stored + replaced +
 * dead-lettered + backlog, because all are counted from the log. Each figure is the total of all partitions.
 */
export function registerSampleMetrics(
  registry: Registry,
  { lease, writers, backlog }: { lease: Lease; writers: Writers; backlog: Backlog },
): void {
  const { partitions } = writers
  const sumOf = (read: (partition: WrittenPartition) => number) =>
    partitions.reduce((sum, partition) => sum + read(partition), 0)
  const progressOf = ({ writer }: WrittenPartition) => writer.progress()
  const countsOf = (partition: WrittenPartition) => progressOf(partition).counts
  counterOf(registry, 'telemetry_samples_accepted_total', 'Samples in the durable log since it began.', () =>
    sumOf((partition) => Math.max(partition.log.tail().samples, settled(countsOf(partition)))),
  )
  counterOf(registry, 'telemetry_samples_stored_total', 'Samples stored as a new row.', () =>
    sumOf((partition) => countsOf(partition).stored),
  )
  counterOf(
    registry,
    'telemetry_samples_replaced_total',
    'Samples that replaced an earlier one of the same device, kind and millisecond.',
    () => sumOf((partition) => countsOf(partition).replaced),
  )
  counterOf(
    registry,
    'telemetry_samples_dead_lettered_total',
    'Samples kept in dead-letter/ because they could not be stored or read back.',
    () => sumOf((partition) => countsOf(partition).deadLettered),
  )
  gaugeOf(registry, 'telemetry_backlog_samples', 'Accepted samples that are not stored yet.', () =>
    sumOf((partition) => Math.max(0, partition.log.tail().samples - settled(countsOf(partition)))),
  )
  registerLogMetrics(registry, { lease, queueBytes: () => sumOf(({ log }) => log.queue().bytes), backlog })
  gaugeOf(registry, 'telemetry_suspended_tables', 'Tables whose writes QuestDB accepts but does not apply.', () => {
    return Math.max(...partitions.map((partition) => progressOf(partition).suspendedTables))
  })
  counterOf(registry, 'telemetry_store_retries_total', 'Writes to QuestDB that were retried.', () =>
    sumOf((partition) => progressOf(partition).retries),
  )
  counterOf(registry, 'telemetry_log_damages_total', 'Damaged parts of the log. Their bytes are in dead-letter/.', () =>
    sumOf((partition) => progressOf(partition).damages),
  )
  counterOf(
    registry,
    'telemetry_states_restored_total',
    'States of devices read from QuestDB, because neither memory nor the files of the log had them.',
    () => sumOf((partition) => progressOf(partition).statesRestored),
  )
  registerCleaningMetrics(registry, () => partitions.flatMap((partition) => progressOf(partition).cleaned))
  new Counter({
    name: 'telemetry_rows_sent_total',
    help: 'Rows sent to QuestDB since the start of the process, by reason.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { rowsSent } of partitions.map(progressOf)) {
        for (const reason of sendReasons) this.inc({ reason }, rowsSent[reason])
      }
    },
  })
}

function registerLogMetrics(
  registry: Registry,
  { lease, queueBytes, backlog }: { lease: Lease; queueBytes: () => number; backlog: Backlog },
): void {
  gaugeOf(registry, 'telemetry_backlog_bytes', 'Bytes of the log that are not stored yet.', () => {
    return backlog.figures().waitingBytes
  })
  gaugeOf(
    registry,
    'telemetry_log_bytes',
    'Bytes of all files of the log: not stored yet, kept for a replay, and dead letters.',
    () => backlog.figures().logBytes,
  )
  gaugeOf(
    registry,
    'telemetry_backlog_budget_bytes',
    'Maximum bytes of the log. Above 70 %, devices over their fair share get 429. Above 90 %, all devices get 503.',
    () => backlog.figures().budgetBytes,
  )
  gaugeOf(registry, 'telemetry_log_queue_bytes', 'Bytes of reports that wait for a sync of the log.', queueBytes)
  gaugeOf(
    registry,
    'telemetry_log_lock_age_seconds',
    'Time since the lock of the log was confirmed. Above 6, another process may take over.',
    () => leaseAgeMs(lease) / 1_000,
  )
}

const settled = ({ stored, replaced, deadLettered }: { stored: number; replaced: number; deadLettered: number }) =>
  stored + replaced + deadLettered

function gaugeOf(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}
