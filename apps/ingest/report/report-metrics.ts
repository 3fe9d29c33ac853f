import { Counter } from 'prom-client'
import { otherField } from '#adapters/dropped-fields'
import type { HttpMetrics } from '#http/metrics'
import type { CheckedReport } from './report-check.ts'

export type ReportMetrics = {
  /** Counts the accepted and rejected samples of a report of `bytes` bytes as sent. */
  countReport(
    checked: Pick<CheckedReport, 'rejected' | 'unknownFields' | 'droppedFields' | 'correctedTimes'>,
    bytes: number,
  ): void
  /** Counts a response. `code` is the problem's code if the report was rejected. */
  observe(status: number, durationMs: number, code?: string): void
}

type Counts = { source: string; bytes: number; unknownFields: number }

/**
 * Creates the metrics of the accept path, for each protocol. Counters that change with every report are plain numbers, read
 * at a scrape.
 */
export function createReportMetrics(http: HttpMetrics): (protocol: { source: string; route: string }) => ReportMetrics {
  const { registry } = http
  const all: Counts[] = []
  const counterBySource = (name: string, help: string, read: (counts: Counts) => number) =>
    new Counter({
      name,
      help,
      labelNames: ['source'],
      registers: [registry],
      collect() {
        this.reset()
        for (const counts of all) this.inc({ source: counts.source }, read(counts))
      },
    })
  counterBySource('telemetry_report_bytes_total', 'Bytes of accepted reports as sent.', ({ bytes }) => bytes)
  counterBySource(
    'telemetry_unknown_fields_total',
    'Unknown members of reports that were dropped.',
    ({ unknownFields }) => unknownFields,
  )
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const rejected = counter('telemetry_samples_rejected_total', 'Samples rejected in the response, by reason.', [
    'code',
    'source',
  ])
  const refused = counter('telemetry_reports_refused_total', 'Rejected reports, by problem code.', ['code', 'source'])
  const dropped = counter(
    'telemetry_adapter_fields_dropped_total',
    'Values of other protocols that were dropped: their field is in no mapping, or the value cannot be converted.',
    ['source', 'field', 'reason'],
  )
  const corrected = counter(
    'telemetry_adapter_times_corrected_total',
    'Times of other protocols that were corrected, because the clock of the router was wrong.',
    ['source', 'reason'],
  )

  return ({ source, route }) => {
    const counts: Counts = { source, bytes: 0, unknownFields: 0 }
    all.push(counts)
    const nameOf = boundedNames()
    return {
      countReport(checked, sentBytes) {
        counts.bytes += sentBytes
        counts.unknownFields += checked.unknownFields
        for (const rejection of checked.rejected) rejected.inc({ code: rejection.code, source }, unitsOf(rejection))
        for (const { field, reason, count } of checked.droppedFields) {
          dropped.inc({ source, field: nameOf(field), reason }, count)
        }
        for (const { reason, count } of checked.correctedTimes) corrected.inc({ source, reason }, count)
      },
      observe(status, durationMs, code) {
        if (code !== undefined) refused.inc({ code, source })
        http.observe({ method: 'POST', route, status, durationMs })
      },
    }
  }
}

/** A rejection can stand for several data points of another protocol. */
const unitsOf = (rejection: CheckedReport['rejected'][number]): number =>
  'count' in rejection ? (rejection.count ?? 1) : 1

/** Field names of one source that become labels. Devices choose the names, so their number must be bounded. */
const maxFieldNames = 200

function boundedNames(): (name: string) => string {
  const known = new Set<string>()
  return (name) => {
    if (known.size < maxFieldNames) known.add(name)
    return known.has(name) ? name : otherField
  }
}
