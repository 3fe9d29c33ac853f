import { z } from 'zod'
import { alertSchema, alertStates } from '#alerts/inbox/alert'
import { alertCountsSchema, countAlerts, countAllAlerts } from '#alerts/inbox/count'
import { acknowledgeAlert, closeAlert, updateAlert } from '#alerts/inbox/handle'
import { acknowledgeAlerts, closeAlerts, handledAlertsSchema, maxHandledAlerts } from '#alerts/inbox/handle-many'
import { getAlert, listAlerts } from '#alerts/inbox/read'
import { severities } from '#alerts/rules/condition'
import { soughtText, text, uuid } from '#core/schemas'
import { paged } from '../../http/paging.ts'
import { ok, type Route, route } from '../../http/route.ts'
import { distinct, instantIn, orgParams, pageOf, pageQuery, repeatable } from '../../http/schemas.ts'

const tag = 'Alerts'
const params = z.object({ orgId: uuid(), id: uuid() })
const closed = { 409: { description: 'The alert is already closed (`alert_closed`).' } }

const origin = {
  ruleId: uuid().optional(),
  deviceId: uuid().optional(),
  groupId: uuid().optional().describe('Only alerts of the devices that are in this group now.'),
}

const alertQuery = z.strictObject({
  state: repeatable(z.enum(alertStates)).optional().describe('Can be repeated. Returns alerts in any of these states.'),
  ...origin,
  severity: z.enum(severities).optional(),
  assignee: soughtText(200).optional(),
  since: instantIn().optional().describe('Returns alerts that opened at this time or later.'),
  ...pageQuery,
})

const comment = text(1_000).nullable().optional().describe('What you write about the alert; null removes it.')
const assignee = text()
  .nullable()
  .optional()
  .describe('Who takes care of the alert, for example a name or an e-mail address; null removes it.')

const filter = {
  ...origin,
  severity: z.enum(severities).optional(),
  assignee: soughtText(200).optional(),
  since: instantIn().optional().describe('Alerts that opened at this time or later.'),
  until: instantIn().optional().describe('Alerts that opened at this time or earlier.'),
}
const states = ['open', 'acknowledged'] as const

const alertIds = distinct(uuid(), maxHandledAlerts, 1).optional()
const oneSelection = 'Send either alertIds or filter.'

type Selected<Filter> = { alertIds?: string[] | undefined; filter?: Filter | undefined }

const isOneSelection = (selected: Selected<unknown>): boolean =>
  (selected.alertIds === undefined) !== (selected.filter === undefined)

const selectionOf = <Filter>(selected: Selected<Filter>) =>
  selected.filter === undefined ? { alertIds: selected.alertIds ?? [] } : { filter: selected.filter }

const acknowledgement = z
  .strictObject({
    alertIds,
    filter: z.strictObject(filter).optional().describe('Replaces `alertIds`: all open alerts that match.'),
    comment,
    assignee,
  })
  .refine(isOneSelection, oneSelection)

const closure = z
  .strictObject({
    alertIds,
    filter: z
      .strictObject({ state: z.array(z.enum(states)).min(1).max(states.length).optional(), ...filter })
      .optional()
      .describe('Replaces `alertIds`: all alerts that match and are not closed.'),
    comment,
  })
  .refine(isOneSelection, oneSelection)

const alertChange = z
  .strictObject({ comment, assignee })
  .refine((change) => Object.keys(change).length > 0, 'Send at least one field to change.')

const handled = { 200: { description: 'What happened to each alert.', schema: handledAlertsSchema } }
const exampleAlertId = '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f'
const exampleHandled = { changed: 1, results: [{ alertId: exampleAlertId, outcome: 'changed' }], hasMore: false }

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
    query: z.strictObject(origin),
    answers: counts,
    example: { answer: exampleCounts },
    handle: async ({ ctx, params: { orgId }, query }) =>
      ok(await countAlerts(ctx, { organizationId: orgId, ...query })),
  }),
  route({
    method: 'get',
    path: '/alert-counts',
    operationId: 'getPlatformAlertCounts',
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
  route({
    method: 'patch',
    path: '/orgs/:orgId/alerts/:id',
    summary: 'Change the comment or the assignee of an alert',
    tag,
    access: 'alert:acknowledge',
    params,
    body: alertChange,
    answers: { 200: { description: 'The alert.', schema: alertSchema } },
    example: { body: { assignee: 'Ada Byron', comment: 'The antenna is broken; a new one arrives on Monday.' } },
    handle: async ({ ctx, params: { orgId, id }, body }) =>
      ok(await updateAlert(ctx, { organizationId: orgId, alertId: id, notes: body })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/alert-acknowledgements',
    operationId: 'acknowledgeAlerts',
    summary: 'Acknowledge many alerts',
    description:
      'Acknowledges the alerts in `alertIds` (at most 1,000), or the oldest 1,000 open alerts that match `filter`. Says what happened to each. You can repeat the request.',
    tag,
    access: 'alert:acknowledge',
    params: orgParams,
    body: acknowledgement,
    answers: handled,
    example: { body: { filter: { severity: 'warning' }, assignee: 'Ada Byron' }, answer: exampleHandled },
    handle: async ({ ctx, params: { orgId }, body: { comment: written, assignee: person, ...selected } }) =>
      ok(
        await acknowledgeAlerts(ctx, {
          organizationId: orgId,
          alerts: selectionOf(selected),
          notes: { comment: written, assignee: person },
        }),
      ),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/alert-closures',
    operationId: 'closeAlerts',
    summary: 'Close many alerts',
    description:
      'Closes the alerts in `alertIds` (at most 1,000), or the oldest 1,000 that match `filter` and are not closed. Says what happened to each. You can repeat the request.',
    tag,
    access: 'alert:acknowledge',
    params: orgParams,
    body: closure,
    answers: handled,
    example: { body: { alertIds: [exampleAlertId], comment: 'Tested.' }, answer: exampleHandled },
    handle: async ({ ctx, params: { orgId }, body: { comment: written, ...selected } }) =>
      ok(await closeAlerts(ctx, { organizationId: orgId, alerts: selectionOf(selected), notes: { comment: written } })),
  }),
]
