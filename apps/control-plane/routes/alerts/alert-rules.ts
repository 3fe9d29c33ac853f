import { z } from 'zod'
import { createAlertRule, deleteAlertRule, updateAlertRule } from '#alerts/rules/change'
import { getAlertRule, listAlertRules } from '#alerts/rules/read'
import { alertRuleSchema, type RuleRevision } from '#alerts/rules/rule'
import { uuid } from '#core/schemas'
import { entityReply, expecting, notModified, preconditionFailed } from '../../http/entity-tags.ts'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, type Route, route } from '../../http/route.ts'
import { distinct, orgParams, pageOf, pageQuery, soughtTags } from '../../http/schemas.ts'

const maxEmails = 10
const maxChats = 10

const { name, enabled, severity, condition, groupId, quietHours } = alertRuleSchema.shape
const settings = {
  name,
  enabled,
  severity,
  condition,
  groupId,
  tags: soughtTags().describe('Only devices that have all of these tags.'),
  channels: z
    .strictObject({
      webhook: z.boolean().default(true).describe('Send `alert.opened` and `alert.closed` to webhooks.'),
      emails: distinct(z.email().max(254), maxEmails)
        .default([])
        .describe('The owner of a new address receives a link, and alerts after confirming the address with it.'),
      chats: distinct(uuid(), maxChats)
        .optional()
        .describe('Ids of the chat channels that receive a message. Without it, a change keeps them.'),
    })
    .describe('The inbox always receives alerts.'),
  quietHours,
}

const newRule = z.strictObject({
  name: settings.name,
  condition: settings.condition,
  enabled: settings.enabled.default(true),
  severity: settings.severity.default('warning'),
  groupId: settings.groupId.default(null),
  tags: settings.tags.default([]),
  channels: settings.channels.default({ webhook: true, emails: [] }),
  quietHours: settings.quietHours.default(null),
})

const ruleChange = z
  .strictObject(settings)
  .partial()
  .refine((change) => Object.keys(change).length > 0, 'Send at least one field to change.')

const tag = 'Alerts'
const params = z.object({ orgId: uuid(), id: uuid() })
const one = { description: 'The alert rule.', schema: alertRuleSchema, headers: ['ETag'] }
const example = {
  name: 'Trucks offline',
  condition: { kind: 'offline', forMinutes: 30 },
  severity: 'critical',
  tags: ['truck'],
  channels: { webhook: true, emails: ['fleet@example.com'] },
  quietHours: { from: '22:00', to: '06:00', timeZone: 'Europe/Berlin' },
}

/** `mailMissing` can change without a revision. */
const tagOf = ({ revision, rule }: RuleRevision) => `"${revision}${rule.mailMissing ? '-no-mail' : ''}"`

export const alertRuleRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/alert-rules',
    summary: 'List alert rules',
    tag,
    access: 'alert:read',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Alert rules, newest first.', schema: pageOf(alertRuleSchema) } },
    handle: (input) => paged(input, (page) => listAlertRules(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/alert-rules',
    summary: 'Create an alert rule',
    description:
      'The service evaluates rules every 10 seconds. When the condition has held for `forMinutes` on a device, an alert opens. The alert closes when the condition ends.',
    tag,
    access: 'alert:write',
    params: orgParams,
    body: newRule,
    idempotent: 'replay',
    answers: {
      201: { ...one, headers: ['Location', 'ETag'] },
      ...writeErrors,
      ...limitReached('alertRules', 'Too many addresses wait for a confirmation (`limit_reached`).'),
    },
    example: { body: example },
    handle: async ({ ctx, services, params: { orgId }, body }) => {
      const pageUrl = services.publicBaseUrl
      const revision = await createAlertRule(ctx, { organizationId: orgId, settings: body, pageUrl })
      const { rule } = revision
      return created(rule, { Location: `/orgs/${orgId}/alert-rules/${rule.id}`, ETag: tagOf(revision) })
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/alert-rules/:id',
    summary: 'Get an alert rule',
    tag,
    access: 'alert:read',
    params,
    answers: { 200: one, ...notModified },
    handle: async ({ ctx, params: { orgId, id }, http }) => {
      const found = await getAlertRule(ctx, { organizationId: orgId, ruleId: id })
      return entityReply(http, tagOf(found), found.rule)
    },
  }),
  route({
    method: 'patch',
    path: '/orgs/:orgId/alert-rules/:id',
    summary: 'Update an alert rule',
    description:
      'Replaces the fields that you send. A change of `condition`, `groupId` or `tags`, or `enabled: false`, closes the alerts of the rule.',
    tag,
    access: 'alert:write',
    params,
    body: ruleChange,
    answers: { 200: one, ...writeErrors, ...preconditionFailed, ...limitReached('waitingAddresses') },
    example: { body: { enabled: false } },
    handle: async ({ ctx, services, params: { orgId, id }, body, http }) => {
      const changed = await updateAlertRule(ctx, {
        pageUrl: services.publicBaseUrl,
        organizationId: orgId,
        ruleId: id,
        change: body,
        precondition: expecting(http, tagOf),
      })
      return entityReply(http, tagOf(changed), changed.rule)
    },
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/alert-rules/:id',
    summary: 'Delete an alert rule',
    description: 'Closes the alerts of the rule. They stay in the inbox.',
    tag,
    access: 'alert:write',
    params,
    answers: { 204: { description: 'The alert rule was deleted.' }, ...writeErrors, ...preconditionFailed },
    handle: ({ ctx, params: { orgId, id }, http }) =>
      noContent(deleteAlertRule(ctx, { organizationId: orgId, ruleId: id, precondition: expecting(http, tagOf) })),
  }),
]
