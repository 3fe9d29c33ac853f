import { earlierExpirySql } from '#fleet/jobs/model/lifetime'
import { type JobStatus, jobStatuses } from '#fleet/jobs/model/states'

// The counters of a batch (`queued`, `dispatched`, …, `held`, `fresh`) change only with the jobs they count, in the same
// statement. A CHECK constraint keeps the sum of the statuses equal to `total`.

const difference = (status: JobStatus) =>
  `count(*) FILTER (WHERE status = '${status}') - count(*) FILTER (WHERE from_status = '${status}') AS "${status}"`

const runsAgain = `b.status IN ('finished', 'cancelled') AND c.queued + c.dispatched + c."inProgress" > 0`

/**
 * CTEs that apply the rows of `changed` to the counters and the status of their batches. The last one, `batch`, returns the
 * changed batches with `was_finished_at`. A batch finishes with the change that leaves it without open jobs, and runs
 * again when one of its jobs is retried: its rollout then counts failures anew. $1 is the time.
 */
export const batchCountersCtes = `counted AS (
  SELECT batch_id, organization_id, count(*) FILTER (WHERE was_held) AS held,
    count(*) FILTER (WHERE was_fresh) AS fresh, bool_or(was_held AND final) AS withdrawn,
    min(expires_at) FILTER (WHERE status = 'queued') AS expires_at, ${jobStatuses.map(difference).join(', ')}
  FROM changed WHERE batch_id IS NOT NULL GROUP BY batch_id, organization_id
), batch AS (
  UPDATE job_batch b SET held = b.held - c.held, fresh = b.fresh - c.fresh, queued = b.queued + c.queued,
    dispatched = b.dispatched + c.dispatched, in_progress = b.in_progress + c."inProgress",
    succeeded = b.succeeded + c.succeeded, failed = b.failed + c.failed,
    timed_out = b.timed_out + c."timedOut", cancelled = b.cancelled + c.cancelled, expired = b.expired + c.expired,
    rejected = b.rejected + c.rejected,
    expires_at = ${earlierExpirySql('c.expires_at')}, is_out_of_order = b.is_out_of_order OR c.withdrawn,
    finished_at = CASE WHEN b.queued + b.dispatched + b.in_progress + c.queued + c.dispatched + c."inProgress" = 0 THEN $1::timestamptz END,
    settled_failures = CASE WHEN ${runsAgain}
      THEN b.failed + b.timed_out + b.rejected + c.failed + c."timedOut" + c.rejected ELSE b.settled_failures END,
    settled_at = CASE WHEN ${runsAgain} THEN $1::timestamptz ELSE b.settled_at END,
    status = CASE
      WHEN b.status = 'cancelled' AND c.queued + c.dispatched + c."inProgress" <= 0 THEN b.status
      WHEN b.queued + b.dispatched + b.in_progress + c.queued + c.dispatched + c."inProgress" = 0 THEN 'finished'
      WHEN ${runsAgain} THEN 'running'
      ELSE b.status END
  FROM counted c WHERE b.id = c.batch_id
  RETURNING b.id, b.organization_id, b.kind, b.status, b.total, b.queued, b.dispatched, b.in_progress, b.succeeded,
    b.failed, b.timed_out, b.cancelled, b.expired, b.rejected, old.finished_at AS was_finished_at, b.finished_at
)`

/**
 * The rest of a statement after the CTE `held` (`batch_id`, `was_held`, `was_fresh`): applies a new hold, given as $2, to
 * the counters of the batches.
 */
export const countHeldJobsSql = `counted AS (
  SELECT batch_id, count(*) FILTER (WHERE $2 = 'rollout') - count(*) FILTER (WHERE was_held) AS more,
    count(*) FILTER (WHERE was_fresh) AS fresh
  FROM held WHERE batch_id IS NOT NULL GROUP BY batch_id
)
UPDATE job_batch b SET held = b.held + c.more, fresh = b.fresh - c.fresh
FROM counted c WHERE b.id = c.batch_id AND (c.more <> 0 OR c.fresh <> 0)`
