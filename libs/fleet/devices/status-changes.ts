import { recordAudit } from '#fleet/audit/record'
import type { StatusChange } from '#fleet/devices/status'
import { publishEvents } from '#fleet/events/publish'
import type { Connection } from '#postgres/pool'

/** Why a status changed, and the actor. */
type Cause = { actor: string; reason: string; requestId?: string }

/** Writes the audit rows and events of status changes, in the transaction that makes them. */
export async function publishStatusChanges(
  connection: Connection,
  changes: readonly StatusChange[],
  cause: Cause,
): Promise<void> {
  await recordAudit(
    connection,
    changes.map(({ deviceId, organizationId, from, to }) => ({
      organizationId,
      actor: cause.actor,
      action: 'device.status_changed',
      subjectId: deviceId,
      detail: { from, to, reason: cause.reason },
      ...(cause.requestId === undefined ? {} : { requestId: cause.requestId }),
    })),
  )
  await publishEvents(
    connection,
    changes.map(({ deviceId, organizationId, from, to }) => ({
      organizationId,
      type: 'device.status_changed',
      payload: { deviceId, from, to, reason: cause.reason },
    })),
  )
}

/** Sets the status `error` after a failed config job, until the next report without fault. Disabled and offline devices keep theirs. */
export async function markConfigFailed(
  connection: Connection,
  organizationId: string,
  deviceId: string,
): Promise<void> {
  const { rows } = await connection.query<StatusChange>(
    `WITH target AS (
       SELECT id, status FROM device WHERE organization_id = $1 AND id = $2 AND status IN ('online', 'provisioning') FOR UPDATE
     )
     UPDATE device d SET status = 'error' FROM target WHERE d.id = target.id
     RETURNING d.id AS "deviceId", d.organization_id AS "organizationId", target.status AS "from", d.status AS "to"`,
    [organizationId, deviceId],
  )
  await publishStatusChanges(connection, rows, { actor: 'system', reason: 'config job failed' })
}
