import { readUsage, usageSchema } from '#fleet/organizations/usage'
import { ok, type Route, route } from '../../http/route.ts'
import { orgParams } from '../../http/schemas.ts'

export const usageRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/usage',
    summary: 'Get an organization’s usage and limits',
    tag: 'Organizations',
    access: 'org:read',
    params: orgParams,
    answers: { 200: { description: 'Usage and limits.', schema: usageSchema } },
    handle: async ({ ctx, params }) => ok(await readUsage(ctx, { organizationId: params.orgId })),
  }),
]
