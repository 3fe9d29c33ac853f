import { type Alert, type WrittenAlert, writtenColumns } from '#alerts/inbox/alert'
import { publishAlerts } from '#alerts/inbox/publish'
import { type AlertReference, alertAccess, readAlert } from '#alerts/inbox/read'
import { conflict } from '#core/errors'
import { rememberCaller } from '#fleet/audit/actor-names'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

/** What a person writes about an alert; null removes it, undefined keeps it. `assignee`: who takes care of it. */
export type AlertNotes = { comment?: string | null | undefined; assignee?: string | null | undefined }

export type Handling = 'acknowledged' | 'closed' | 'updated'

/**
 * Acknowledges an alert (`alert:acknowledge`): somebody takes care of it. An alert that is acknowledged already does not
 * change. Throws 404, and 409 `alert_closed`.
 */
export const acknowledgeAlert = (ctx: FleetContext, reference: AlertReference): Promise<Alert> =>
  changeState(ctx, reference, 'acknowledged')

/**
 * Closes an alert (`alert:acknowledge`). While its condition continues, no other alert of the rule opens for the device.
 * Throws 404, and 409 `alert_closed`.
 */
export const closeAlert = (ctx: FleetContext, reference: AlertReference): Promise<Alert> =>
  changeState(ctx, reference, 'closed')

/** Changes the comment or the assignee of an alert in any state (`alert:acknowledge`). Throws 404. */
export const updateAlert = (
  ctx: FleetContext,
  { notes, ...reference }: AlertReference & { notes: AlertNotes },
): Promise<Alert> =>
  withObject(ctx, alertAccess(reference, 'alert:acknowledge'), async (connection) => {
    const current = await readAlert(connection, reference, { lock: true })
    return isWritten(current, notes) ? current : writeOne(ctx, connection, reference, 'updated', notes)
  })

/** Whether an alert has these notes already. */
export const isWritten = (alert: Pick<Alert, 'comment' | 'assignee'>, { comment, assignee }: AlertNotes): boolean =>
  (comment === undefined || comment === alert.comment) && (assignee === undefined || assignee === alert.assignee)

function changeState(ctx: FleetContext, reference: AlertReference, state: 'acknowledged' | 'closed'): Promise<Alert> {
  return withObject(ctx, alertAccess(reference, 'alert:acknowledge'), async (connection) => {
    const current = await readAlert(connection, reference, { lock: true })
    if (current.state === 'closed') throw conflict('alert_closed', 'The alert is already closed.')
    return current.state === state ? current : writeOne(ctx, connection, reference, state, {})
  })
}

async function writeOne(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, alertId }: AlertReference,
  handling: Handling,
  notes: AlertNotes,
): Promise<Alert> {
  const [written] = await writeHandled(ctx, connection, { organizationId, alertIds: [alertId], handling, notes })
  if (!written) throw new Error('The locked alert was not written.')
  const { notifyWebhooks: _, ...alert } = written
  return alert
}

// An acknowledged alert keeps who acknowledged it, and when.
const assignments: Record<Handling, string> = {
  acknowledged: `, state = 'acknowledged', acknowledged_at = coalesce(a.acknowledged_at, now()),
    acknowledged_by = coalesce(a.acknowledged_by, $by)`,
  closed: ", state = 'closed', closed_at = now(), closed_by = $by, close_reason = 'closed_by_user'",
  updated: '',
}

type HandledAlerts = { organizationId: string; alertIds: readonly string[]; handling: Handling; notes: AlertNotes }

/** Changes alerts that the caller locked, with their audit rows and events, in the caller's transaction. Returns them. */
export async function writeHandled(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, alertIds, handling, notes: { comment, assignee } }: HandledAlerts,
): Promise<WrittenAlert[]> {
  if (alertIds.length === 0) return []
  await rememberCaller(connection, ctx.principal, organizationId)
  const written = await queryEntities<WrittenAlert>(
    connection,
    `UPDATE alert a SET comment = CASE WHEN $comments THEN $comment ELSE a.comment END,
       assignee = CASE WHEN $assigns THEN $assignee ELSE a.assignee END${assignments[handling]}
     WHERE a.organization_id = $organizationId AND a.id = ANY ($alertIds::uuid[]) RETURNING ${writtenColumns}`,
    {
      organizationId,
      alertIds,
      comments: comment !== undefined,
      comment,
      assigns: assignee !== undefined,
      assignee,
      ...(handling === 'updated' ? {} : { by: ctx.principal.id }),
    },
  )
  const actions = written.map(({ id, ruleId, deviceId }) => ({
    organizationId,
    action: `alert.${handling}`,
    subjectId: id,
    detail: { ruleId, deviceId },
  }))
  await auditCaller(ctx, connection, ...actions)
  if (handling === 'closed') await publishAlerts(connection, 'alert.closed', written)
  return written
}
