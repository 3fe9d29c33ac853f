import { z } from 'zod'
import { alertSchema, alertStates } from '#alerts/inbox/alert'
import { alertCountsSchema, countAlerts, countAllAlerts } from '#alerts/inbox/count'
import { acknowledgeAlert, closeAlert } from '#alerts/inbox/handle'
import { getAlert, listAlerts } from '#alerts/inbox/read'
import { severities } from '#alerts/rules/condition'
import { uuid } from '#core/schemas'
import { paged } from '../../http/paging.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { instantIn, orgParams, pageOf, pageQuery, repeatable } from '../../http/schemas.ts'

const tag = 'Alerts'
const params = z.object({ orgId: uuid(), id: uuid() })
const closed = { 409: { description: 'The alert is already closed (`alert_closed`).' } }

const ofDevices = {
  deviceId: uuid().optional(),
  groupId: uuid().optional().describe('Only alerts of the devices that are in this group now.'),
}

const alertQuery = z.strictObject({
  state: repeatable(z.enum(alertStates)).optional().describe('Can be repeated. Returns alerts in any of these states.'),
  ruleId: uuid().optional(),
  ...ofDevices,
  severity: z.enum(severities).optional(),
  since: instantIn().optional().describe('Returns alerts that opened at this time or later.'),
  ...pageQuery,
})

const counts = { 200: { description: 'The numbers of alerts.', schema: alertCountsSchema } }
const exampleCounts = {
  open: 3,
  acknowledged: 1,
  bySeverity: {
    info: { open: 0, acknowledged: 0 },
    warning: { open: 2, acknowledged: 0 },
    critical: { open: 1, acknowledged: 1 },
  },
}

/** Routes of the inbox. */
export const alertRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/alerts',
    summary: 'List alerts',
    tag,
    access: 'alert:read',
    params: orgParams,
    query: alertQuery,
    answers: { 200: { description: 'Alerts, newest first.', schema: pageOf(alertSchema) } },
    handle: (input) =>
      paged(input, (page) => listAlerts(input.ctx, { organizationId: input.params.orgId, filter: input.query, page })),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/alert-counts',
    summary: 'Count alerts that are not closed',
    tag,
    access: 'alert:read',
    params: orgParams,
    query: z.strictObject(ofDevices),
    answers: counts,
    example: { answer: exampleCounts },
    handle: async ({ ctx, params: { orgId }, query }) =>
      ok(await countAlerts(ctx, { organizationId: orgId, ...query })),
  }),
  route({
    method: 'get',
    path: '/alert-counts',
    summary: 'Count alerts that are not closed in all organizations',
    description: 'Counts the alerts of the organizations in which the caller holds `alert:read`.',
    tag,
    access: 'alert:read',
    answers: counts,
    example: { answer: exampleCounts },
    handle: async ({ ctx }) => ok(await countAllAlerts(ctx)),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/alerts/:id',
    summary: 'Get an alert',
    tag,
    access: 'alert:read',
    params,
    answers: { 200: { description: 'The alert.', schema: alertSchema } },
    handle: async ({ ctx, params: { orgId, id } }) => ok(await getAlert(ctx, { organizationId: orgId, alertId: id })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/alerts/:id/acknowledge',
    summary: 'Acknowledge an alert',
    description: 'Records that you take care of the alert. An acknowledged alert does not change.',
    tag,
    access: 'alert:acknowledge',
    params,
    answers: { 200: { description: 'The alert.', schema: alertSchema }, ...closed },
    handle: async ({ ctx, params: { orgId, id } }) =>
      ok(await acknowledgeAlert(ctx, { organizationId: orgId, alertId: id })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/alerts/:id/close',
    summary: 'Close an alert',
    description: 'While the condition continues, the rule opens no other alert for the device.',
    tag,
    access: 'alert:acknowledge',
    params,
    answers: { 200: { description: 'The alert.', schema: alertSchema }, ...closed },
    handle: async ({ ctx, params: { orgId, id } }) => ok(await closeAlert(ctx, { organizationId: orgId, alertId: id })),
  }),
]
