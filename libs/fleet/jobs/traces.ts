import type { Span, Traceparent, Tracing } from '#core/tracing'
import type { LockedJob } from '#fleet/jobs/changes/locking'
import type { Connection, Queryable } from '#postgres/pool'

type DispatchTrace = {
  /** Stores the span of the dispatch with the jobs, so that the delivery to the device continues the trace. */
  keep(connection: Connection, jobs: readonly LockedJob[]): Promise<void>
  end(error?: unknown): void
}

/** Begins one span for the dispatch of all jobs with the same parent. Undefined if no job belongs to a trace. */
export function traceDispatch(
  tracing: Tracing | undefined,
  references: readonly { jobId: string; traceparent?: Traceparent | undefined }[],
): DispatchTrace | undefined {
  if (!tracing) return undefined
  const spans = new Map<Traceparent, Span>()
  const spanOfJob = new Map<string, Span>()
  for (const { jobId, traceparent } of references) {
    if (!traceparent) continue
    const span = spans.get(traceparent) ?? tracing.begin('jobs dispatch', { kind: 'internal', parent: traceparent })
    spans.set(traceparent, span)
    spanOfJob.set(jobId, span)
  }
  if (spans.size === 0) return undefined
  return {
    async keep(connection, jobs) {
      const traced = jobs.flatMap(({ id }) => {
        const span = spanOfJob.get(id)
        return span ? [{ id, traceparent: span.traceparent }] : []
      })
      await connection.query(
        `UPDATE job SET traceparent = traced.traceparent
         FROM unnest($1::uuid[], $2::text[]) AS traced (id, traceparent) WHERE job.id = traced.id`,
        [traced.map(({ id }) => id), traced.map(({ traceparent }) => traceparent)],
      )
    },
    end: (error) => {
      for (const span of spans.values()) span.end(error)
    },
  }
}

/** The trace of a job of this device; null if it has none. */
export async function readTraceparent(db: Queryable, deviceId: string, jobId: string): Promise<Traceparent | null> {
  const { rows } = await db.query<{ traceparent: Traceparent | null }>(
    'SELECT traceparent FROM job WHERE id = $1 AND device_id = $2',
    [jobId, deviceId],
  )
  return rows[0]?.traceparent ?? null
}
