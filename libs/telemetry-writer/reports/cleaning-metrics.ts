import { Counter, type Registry } from 'prom-client'
import type { CleanedCount } from './cleaning-counts.ts'

/** Registers `telemetry_fields_cleaned_total`. `read` returns the counts of all writers of the process. */
export function registerCleaningMetrics(registry: Registry, read: () => readonly CleanedCount[]): void {
  new Counter({
    name: 'telemetry_fields_cleaned_total',
    help: 'Values of fields that were set to null, by kind, field and reason.',
    labelNames: ['kind', 'field', 'reason'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { kind, field, reason, count } of read()) this.inc({ kind, field, reason }, count)
    },
  })
}
