import { z } from 'zod'
import { createAlertRule, deleteAlertRule, updateAlertRule } from '#alerts/rules/change'
import { conditionSchema, severities } from '#alerts/rules/condition'
import { getAlertRule, listAlertRules } from '#alerts/rules/read'
import type { RuleRevision } from '#alerts/rules/rule'
import { instantOut, text, uuid } from '#core/schemas'
import { windowSchema } from '#fleet/jobs/model/schedule'
import { entityReply, expecting, notModified, preconditionFailed } from '../../http/entity-tags.ts'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { distinct, orgParams, pageOf, pageQuery, tags } from '../../http/schemas.ts'

const maxEmails = 10

const settings = {
  name: text(),
  enabled: z.boolean().describe('Disabling a rule closes its alerts.'),
  severity: z.enum(severities),
  condition: conditionSchema,
  groupId: uuid().nullable().describe('Only devices of this group; null for all devices.'),
  tags: tags().describe('Only devices that have all of these tags.'),
  channels: z
    .strictObject({
      webhook: z.boolean().default(true).describe('Send `alert.opened` and `alert.closed` to webhooks.'),
      emails: distinct(z.email().max(254), maxEmails)
        .default([])
        .describe('The owner of a new address receives a link, and alerts after confirming the address with it.'),
    })
    .describe('The inbox always receives alerts.'),
  quietHours: windowSchema.nullable().describe('E-mail is sent after these hours. The inbox and webhooks do not wait.'),
}

const ruleSchema = z
  .object({
    id: uuid(),
    ...settings,
    tags: z.array(z.string()),
    channels: z.object({ webhook: z.boolean(), emails: z.array(z.string()) }),
    unconfirmedEmails: z
      .array(z.object({ email: z.string(), state: z.enum(['waiting', 'refused']) }))
      .describe(
        'The addresses of `channels.emails` that receive no alerts, because their owner has not confirmed them.',
      ),
    createdAt: instantOut(),
    updatedAt: instantOut(),
  })
  .meta({ id: 'AlertRule' })

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
const one = { description: 'The alert rule.', schema: ruleSchema, headers: ['ETag'] }
const example = {
  name: 'Trucks offline',
  condition: { kind: 'offline', forMinutes: 30 },
  severity: 'critical',
  tags: ['truck'],
  channels: { webhook: true, emails: ['fleet@example.com'] },
  quietHours: { from: '22:00', to: '06:00', timeZone: 'Europe/Berlin' },
}

const tagOf = ({ revision }: RuleRevision) => `"${revision}"`

export const alertRuleRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/alert-rules',
    summary: 'List alert rules',
    tag,
    access: 'alert:read',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Alert rules, newest first.', schema: pageOf(ruleSchema) } },
    handle: async (input) =>
      pageReply(
        input,
        await listAlertRules(input.ctx, { organizationId: input.params.orgId, page: pageRequest(input) }),
      ),
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
      const created = await createAlertRule(ctx, { organizationId: orgId, settings: body, pageUrl })
      const headers = { Location: `/orgs/${orgId}/alert-rules/${created.rule.id}`, ETag: tagOf(created) }
      return { status: 201, body: created.rule, headers }
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
    handle: async ({ ctx, params: { orgId, id }, http }) => {
      await deleteAlertRule(ctx, { organizationId: orgId, ruleId: id, precondition: expecting(http, tagOf) })
      return { status: 204 }
    },
  }),
]
