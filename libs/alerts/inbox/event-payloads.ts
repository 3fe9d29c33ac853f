import { alertSchema } from '#alerts/inbox/alert'
import { uuid } from '#core/schemas'

const data = alertSchema.omit({ id: true, organizationId: true }).extend({ alertId: uuid() })

/** The `data` of the events of alerts, by type. Each description says when the event occurs. */
export const alertEventSchemas = {
  'alert.opened': data.meta({ description: 'An alert opened.' }),
  'alert.closed': data.meta({ description: 'An alert closed, by itself or by a request.' }),
}
