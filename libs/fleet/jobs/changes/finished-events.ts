/**
 * CTE that publishes `job.finished` for every row of `changed` that ended, and `job_batch.finished` for every row of
 * `batch` that the same statement finished.
 */
export const finishedEventsCte = `event AS (
  INSERT INTO outbox_event (id, organization_id, type, payload)
  SELECT uuidv7(), organization_id, 'job.finished', jsonb_build_object('jobId', id, 'batchId', batch_id,
    'deviceId', device_id, 'kind', kind, 'status', status, 'attempt', attempt)
  FROM changed WHERE final AND status <> from_status
  UNION ALL
  SELECT uuidv7(), organization_id, 'job_batch.finished', jsonb_build_object('batchId', id, 'kind', kind,
    'status', status, 'total', total, 'counts', jsonb_build_object('queued', queued, 'dispatched', dispatched,
    'inProgress', in_progress, 'succeeded', succeeded, 'failed', failed, 'timedOut', timed_out, 'cancelled', cancelled,
    'expired', expired, 'rejected', rejected))
  FROM batch WHERE finished_at IS NOT NULL AND was_finished_at IS NULL
)`
