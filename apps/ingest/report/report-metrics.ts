import { Counter, type Registry } from 'prom-client'
import type { HttpMetrics } from '#http/metrics'
import type { CheckedReport } from './report-check.ts'

export type ReportMetrics = {
  /** Counts the accepted and rejected samples of a report of `bytes` bytes as sent. */
  countReport(checked: Pick<CheckedReport, 'rejected' | 'unknownFields'>, bytes: number): void
  /** Counts a response. `code` is the problem's code if the report was rejected. */
  observe(status: number, durationMs: number, code?: string): void
}

/** Creates the metrics of the accept path. Counters that change with every report are plain numbers, read at a scrape. */
export function createReportMetrics(http: HttpMetrics): ReportMetrics {
  const { registry } = http
  let bytes = 0
  let unknownFields = 0
  counterOf(registry, 'telemetry_report_bytes_total', 'Bytes of accepted reports as sent.', () => bytes)
  counterOf(
    registry,
    'telemetry_unknown_fields_total',
    'Unknown members of reports that were dropped.',
    () => unknownFields,
  )
  const rejected = new Counter({
    name: 'telemetry_samples_rejected_total',
    help: 'Samples rejected in the response, by reason.',
    labelNames: ['code'],
    registers: [registry],
  })
  const refused = new Counter({
    name: 'telemetry_reports_refused_total',
    help: 'Rejected reports, by problem code.',
    labelNames: ['code'],
    registers: [registry],
  })
  return {
    countReport(checked, sentBytes) {
      bytes += sentBytes
      unknownFields += checked.unknownFields
      for (const { code } of checked.rejected) rejected.inc({ code })
    },
    observe(status, durationMs, code) {
      if (code !== undefined) refused.inc({ code })
      http.observe({ method: 'POST', route: '/telemetry', status, durationMs })
    },
  }
}

/** Registers a counter whose value is read at every scrape. */
export function counterOf(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}
