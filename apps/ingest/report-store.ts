import type { TelemetryLog } from '#telemetry-log/log'
import type { Backlog } from './report/backlog.ts'
import type { LargeReports } from './report/large-reports.ts'

/** Where ingest keeps accepted reports: segment files with a writer in this process, or Kafka. */
export type ReportStore = {
  log: Pick<TelemetryLog, 'append'>
  backlog: Backlog
  large: LargeReports
  /** Returns why the log cannot accept its first report yet; undefined if it can. */
  whyNotReady(): string | undefined
  /** Resolves when the process must exit. */
  failed: Promise<Error>
  /** Returns a function that confirms that Postgres has the changes by stored rows until now. */
  confirmation(): () => void
  /** Asks for the moments of the devices of these organizations. With Kafka, the writers ask themselves. */
  awaitMoments(organizations: readonly string[]): void
  /** Syncs the log, stops what reads it, and releases it. */
  close(): Promise<void>
}
