import { type Alert, type WrittenAlert, writtenColumns } from '#alerts/inbox/alert'
import { publishAlerts } from '#alerts/inbox/publish'
import { type AlertReference, alertAccess, readAlert } from '#alerts/inbox/read'
import { conflict } from '#core/errors'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { withObject } from '#fleet/verbs'
import { queryEntity } from '#postgres/entities'

/**
 * Acknowledges an alert (`alert:acknowledge`): somebody takes care of it. An alert that is acknowledged already does not
 * change. Throws 404, and 409 `alert_closed`.
 */
export const acknowledgeAlert = (ctx: FleetContext, reference: AlertReference): Promise<Alert> =>
  changeAlert(ctx, reference, 'acknowledged')

/**
 * Closes an alert (`alert:acknowledge`). While its condition continues, no other alert of the rule opens for the device.
 * Throws 404, and 409 `alert_closed`.
 */
export const closeAlert = (ctx: FleetContext, reference: AlertReference): Promise<Alert> =>
  changeAlert(ctx, reference, 'closed')

const assignments = {
  acknowledged: "state = 'acknowledged', acknowledged_at = now(), acknowledged_by = $by",
  closed: "state = 'closed', closed_at = now(), closed_by = $by, close_reason = 'closed_by_user'",
}

function changeAlert(ctx: FleetContext, reference: AlertReference, state: keyof typeof assignments): Promise<Alert> {
  const object = alertAccess(reference, 'alert:acknowledge')
  return withObject(ctx, object, async (connection) => {
    const current = await readAlert(connection, reference, { lock: true })
    if (current.state === 'closed') throw conflict('alert_closed', 'The alert is already closed.')
    if (current.state === state) return current
    const written = await queryEntity<WrittenAlert>(
      connection,
      `UPDATE alert a SET ${assignments[state]}
       WHERE a.organization_id = $organizationId AND a.id = $alertId RETURNING ${writtenColumns}`,
      { ...reference, by: ctx.principal.id },
    )
    const { notifyWebhooks: _, ...alert } = written
    const { ruleId, deviceId } = alert
    await auditObject(ctx, connection, `alert.${state}`, object, { ruleId, deviceId })
    if (state === 'closed') await publishAlerts(connection, 'alert.closed', [written])
    return alert
  })
}
