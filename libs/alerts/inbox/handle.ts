import { type Alert, type AlertRow, alertColumns, toAlert } from '#alerts/inbox/alert'
import { publishAlerts } from '#alerts/inbox/publish'
import { type AlertReference, readAlert } from '#alerts/inbox/read'
import { conflict } from '#core/errors'
import { authorizeObject } from '#fleet/access/authorize-object'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { tenantTransaction } from '#fleet/tenant'

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
  acknowledged: "state = 'acknowledged', acknowledged_at = now(), acknowledged_by = $3",
  closed: "state = 'closed', closed_at = now(), closed_by = $3, close_reason = 'closed_by_user'",
}

async function changeAlert(
  ctx: FleetContext,
  reference: AlertReference,
  state: keyof typeof assignments,
): Promise<Alert> {
  const { organizationId, alertId } = reference
  await authorizeObject(ctx, organizationId, 'alert:acknowledge', 'alert', alertId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const current = await readAlert(connection, reference, { lock: true })
    if (current.state === 'closed') throw conflict('alert_closed', 'The alert is already closed.')
    if (current.state === state) return toAlert(current)
    const { rows } = await connection.query<AlertRow>(
      `UPDATE alert a SET ${assignments[state]} WHERE a.organization_id = $1 AND a.id = $2 RETURNING ${alertColumns}`,
      [organizationId, alertId, ctx.principal.id],
    )
    const [row] = rows
    if (!row) throw new Error('The locked alert was not found.')
    await auditCaller(ctx, connection, {
      organizationId,
      action: `alert.${state}`,
      subjectType: 'alert',
      subjectId: alertId,
      detail: { ruleId: row.rule_id, deviceId: row.device_id },
    })
    if (state === 'closed') await publishAlerts(connection, 'alert.closed', [row])
    return toAlert(row)
  })
}
