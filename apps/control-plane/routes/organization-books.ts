import { z } from 'zod'
import { listAudit } from '#fleet/audit/list'
import { deviceStatuses } from '#fleet/devices/status'
import { setSubscription, subscriptionStatuses } from '#fleet/organizations/organizations'
import { readUsage } from '#fleet/organizations/usage'
import { pageReply, pageRequest } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import { instantOut, orgParams, pageOf, pageQuery, text, uuid } from '../http/schemas.ts'
import { organizationSchema } from './organizations.ts'

const tag = 'Organizations'

const usageSchema = z
  .object({
    organizationId: uuid(),
    devices: z.object({ used: z.int(), limit: z.int(), byStatus: z.record(z.enum(deviceStatuses), z.int()) }),
    requestsPerMinute: z.int(),
    historyDays: z.int(),
    features: z.object({ smartTagGroups: z.boolean(), fleetGps: z.boolean(), coverage: z.boolean() }),
  })
  .meta({ id: 'Usage' })

const auditSchema = z
  .object({
    id: uuid(),
    at: instantOut(),
    actor: z.string().describe('`key:…`, `user:…`, `device:…` or `system`.'),
    action: z.string(),
    subjectType: z.string(),
    subjectId: z.string(),
    detail: z.record(z.string(), z.unknown()),
    requestId: z.string().nullable(),
  })
  .meta({ id: 'AuditRecord' })

/** Subscription, usage and audit log of an organization. */
export const organizationBookRoutes: Route[] = [
  route({
    method: 'put',
    path: '/orgs/:orgId/subscription',
    summary: 'Set an organization’s subscription',
    description:
      'For billing systems. While the status is `suspended` or `cancelled`, writes return 402. Telemetry is accepted for 30 more days.',
    tag,
    access: 'platform',
    params: orgParams,
    body: z.strictObject({
      plan: text(40),
      status: z.enum(subscriptionStatuses),
      deviceQuota: z.int().min(0).max(2_147_483_647).optional().describe('Overrides the device quota of the plan.'),
    }),
    answers: { 200: { description: 'The organization.', schema: organizationSchema } },
    example: { body: { plan: 'pro', status: 'active', deviceQuota: 2_500 } },
    handle: async ({ ctx, params, body }) => ({ status: 200, body: await setSubscription(ctx, params.orgId, body) }),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/usage',
    summary: 'Get an organization’s usage and limits',
    tag,
    access: 'org:read',
    params: orgParams,
    answers: { 200: { description: 'Usage and limits.', schema: usageSchema } },
    handle: async ({ ctx, params }) => ({ status: 200, body: await readUsage(ctx, params.orgId) }),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/audit',
    summary: 'List audit records',
    tag,
    access: 'audit:read',
    params: orgParams,
    query: z.strictObject({
      action: text(100).optional(),
      actor: text(300).optional(),
      subjectId: text(100).optional(),
      ...pageQuery,
    }),
    answers: { 200: { description: 'Audit records, newest first.', schema: pageOf(auditSchema) } },
    handle: async (input) => {
      const { cursor: _cursor, limit: _limit, ...filter } = input.query
      return pageReply(input, await listAudit(input.ctx, input.params.orgId, filter, pageRequest(input)))
    },
  }),
]
