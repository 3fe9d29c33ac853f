import { idsBefore } from '#core/ids'
import { epochMs } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/** One entry of a device's event stream, without the part of the stream it comes from. */
export type DeviceEvent = {
  /** Unique within the device. Events of the same millisecond are sorted by it. */
  id: string
  atMs: number
  kind: 'status' | 'change' | 'job' | 'alert' | 'reboot' | 'handover' | 'fault' | 'report'
  action: string
  /** `key:…`, `user:…`, `device:…` or `system`; null for what the device measured. */
  by: string | null
  detail: Record<string, unknown>
}

/** The newest `limit` events at or before a time. The caller has authorized the reading of the device. */
export type EventQuery = { organizationId: string; deviceId: string; untilMs: number; limit: number }

const statusChanged = 'device.status_changed'

/** What was done to a device, and its changes of status. `wants` chooses between the two. */
export async function auditedEvents(
  db: Queryable,
  { organizationId, deviceId, untilMs, limit }: EventQuery,
  wants: { status: boolean; change: boolean },
): Promise<DeviceEvent[]> {
  const { rows } = await db.query<DeviceEvent>(
    `SELECT 'audit:' || id AS id, ${epochMs('at')} AS "atMs", CASE WHEN action = '${statusChanged}' THEN 'status' ELSE 'change' END AS kind,
       action, actor AS by, detail
     FROM audit_entry
     WHERE organization_id = $1 AND subject_id = $2 AND audit_entry.id < $3
       AND CASE WHEN action = '${statusChanged}' THEN $4::boolean ELSE $5::boolean END
     ORDER BY audit_entry.id DESC LIMIT $6`,
    [organizationId, deviceId, idsBefore(untilMs + 1), wants.status, wants.change, limit],
  )
  return rows
}

/** The changes of the status of a device's jobs, from their creation on. */
export async function jobEvents(
  db: Queryable,
  { organizationId, deviceId, untilMs, limit }: EventQuery,
): Promise<DeviceEvent[]> {
  const { rows } = await db.query<DeviceEvent>(
    `SELECT 'job:' || j.id || ':' || lpad(e.sequence::text, 20, '0') AS id, ${epochMs('e.at')} AS "atMs", 'job' AS kind, e.status AS action, e.by,
       json_build_object('jobId', j.id, 'batchId', j.batch_id, 'jobKind', j.kind, 'attempt', e.attempt,
         'error', CASE WHEN e.status = j.status AND j.error_code IS NOT NULL
           THEN json_build_object('code', j.error_code, 'detail', j.error_detail) END) AS detail
     FROM job j CROSS JOIN LATERAL (
       SELECT 0::bigint AS sequence, j.created_at AS at, 1 AS attempt, 'queued' AS status, j.created_by AS by
       UNION ALL
       SELECT sequence, at, attempt, status, by FROM job_event WHERE job_id = j.id
     ) e
     WHERE j.organization_id = $1 AND j.device_id = $2 AND e.at < $3
     ORDER BY e.at DESC, e.sequence DESC LIMIT $4`,
    [organizationId, deviceId, new Date(untilMs + 1), limit],
  )
  return rows
}
