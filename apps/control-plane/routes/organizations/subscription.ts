import { z } from 'zod'
import { text } from '#core/schemas'
import { organizationSchema, setSubscription, subscriptionStatuses } from '#fleet/organizations/organizations'
import { ok, type Route, route } from '../../http/route.ts'
import { orgParams } from '../../http/schemas.ts'

export const subscriptionRoutes: Route[] = [
  route({
    method: 'put',
    path: '/orgs/:orgId/subscription',
    summary: 'Set an organization’s subscription',
    description:
      'For billing systems. While the status is `suspended` or `cancelled`, writes return 402. Telemetry is accepted for 30 more days.',
    tag: 'Organizations',
    access: 'platform',
    params: orgParams,
    body: z.strictObject({
      plan: text(40),
      status: z.enum(subscriptionStatuses),
      deviceQuota: z.int().min(0).max(2_147_483_647).optional().describe('Overrides the device quota of the plan.'),
    }),
    answers: { 200: { description: 'The organization.', schema: organizationSchema } },
    example: { body: { plan: 'pro', status: 'active', deviceQuota: 2_500 } },
    handle: async ({ ctx, params, body }) => ok(await setSubscription(ctx, { organizationId: params.orgId, ...body })),
  }),
]
