import type { Registry } from 'prom-client'
import { counterOf } from '#http/metrics'
import type { CommitFigures } from '#telemetry-log/commit-meter'

/** Registers how many groups of reports became durable, and the time that they took. Their quotient is what a 202 waits for. */
export function registerCommitMetrics(registry: Registry, read: () => CommitFigures): void {
  counterOf(registry, 'telemetry_log_commits_total', 'Groups of reports that became durable.', () => read().count)
  counterOf(
    registry,
    'telemetry_log_commit_seconds_total',
    'Time from the write of a group until it is durable.',
    () => read().seconds,
  )
}
