import { Counter, Gauge, type Registry } from 'prom-client'
import { leaseAgeMs } from '#telemetry-log/lease'
import type { SegmentLog } from '#telemetry-log/segment-log'
import type { WriterHandle } from '../writer/handle.ts'
import type { Backlog } from './backlog.ts'
import { counterOf } from './report-metrics.ts'

/**
 * What became of the accepted samples: accepted = stored + replaced + dead-lettered + backlog, at every scrape and
 * across restarts, since all of them are counted from the log.
 */
export function registerSampleMetrics(
  registry: Registry,
  { log, writer, backlog }: { log: SegmentLog; writer: WriterHandle; backlog: Backlog },
): void {
  const counts = () => writer.progress().counts
  counterOf(registry, 'telemetry_samples_accepted_total', 'Samples in the durable log since it began.', () =>
    Math.max(log.tail().samples, settled(counts())),
  )
  counterOf(registry, 'telemetry_samples_stored_total', 'Samples that became a row.', () => counts().stored)
  counterOf(
    registry,
    'telemetry_samples_replaced_total',
    'Samples that took the place of an earlier one of the same device, kind and millisecond.',
    () => counts().replaced,
  )
  counterOf(
    registry,
    'telemetry_samples_dead_lettered_total',
    'Samples kept in dead-letter/ because they could not be stored or read back.',
    () => counts().deadLettered,
  )
  gaugeOf(registry, 'telemetry_backlog_samples', 'Accepted samples that are not stored yet.', () =>
    Math.max(0, log.tail().samples - settled(counts())),
  )
  registerLogMetrics(registry, log, backlog)
  gaugeOf(registry, 'telemetry_suspended_tables', 'Tables whose writes QuestDB takes but does not apply.', () => {
    return writer.progress().suspendedTables
  })
  counterOf(
    registry,
    'telemetry_store_retries_total',
    'Writes to QuestDB that failed and were tried again.',
    () => writer.progress().retries,
  )
  counterOf(
    registry,
    'telemetry_log_damages_total',
    'Stretches of the log that could not be read back; their bytes are in dead-letter/.',
    () => writer.progress().damages,
  )
  new Counter({
    name: 'telemetry_fields_cleaned_total',
    help: 'Values of fields that were set to null, by kind, field and reason.',
    labelNames: ['kind', 'field', 'reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { kind, field, reason, count } of writer.progress().cleaned) this.inc({ kind, field, reason }, count)
    },
  })
}

function registerLogMetrics(registry: Registry, log: SegmentLog, backlog: Backlog): void {
  gaugeOf(registry, 'telemetry_backlog_bytes', 'Bytes of the log that are not stored yet.', () => {
    return backlog.figures().waitingBytes
  })
  gaugeOf(
    registry,
    'telemetry_log_bytes',
    'Bytes of all files of the log: not stored yet, kept for a replay, dead letters.',
    () => backlog.figures().logBytes,
  )
  gaugeOf(
    registry,
    'telemetry_backlog_budget_bytes',
    'Bytes the log may take; from 70 % devices over their share get 429, from 90 % everybody gets 503.',
    () => backlog.figures().budgetBytes,
  )
  gaugeOf(registry, 'telemetry_log_queue_bytes', 'Bytes of reports that wait for a sync of the log.', () => {
    return log.queue().bytes
  })
  gaugeOf(
    registry,
    'telemetry_log_lock_age_seconds',
    'Time since the lock of the log was last confirmed; above 6 another process may take the log over.',
    () => leaseAgeMs(log.lease) / 1_000,
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
