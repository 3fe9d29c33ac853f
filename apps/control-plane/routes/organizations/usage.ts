import { z } from 'zod'
import { uuid } from '#core/schemas'
import { deviceStatuses } from '#fleet/devices/status'
import { limitNames } from '#fleet/organizations/limit-table'
import { readUsage } from '#fleet/organizations/usage'
import { type Route, route } from '../../http/route.ts'
import { orgParams } from '../../http/schemas.ts'

const usageSchema = z
  .object({
    organizationId: uuid(),
    devices: z.object({ used: z.int(), limit: z.int(), byStatus: z.record(z.enum(deviceStatuses), z.int()) }),
    requestsPerMinute: z.int(),
    alertMails: z.object({ used: z.int(), limit: z.int() }).describe('Messages about alerts on the present UTC day.'),
    historyDays: z.int(),
    features: z.object({ smartTagGroups: z.boolean(), fleetGps: z.boolean(), coverage: z.boolean() }),
    limits: z
      .partialRecord(z.enum(limitNames), z.object({ limit: z.int(), used: z.int() }))
      .describe('Limits of the organization. Those within one device, group or profile are in `GET /plans`.'),
  })
  .meta({ id: 'Usage' })

export const usageRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/usage',
    summary: 'Get an organization’s usage and limits',
    tag: 'Organizations',
    access: 'org:read',
    params: orgParams,
    answers: { 200: { description: 'Usage and limits.', schema: usageSchema } },
    handle: async ({ ctx, params }) => ({
      status: 200,
      body: await readUsage(ctx, { organizationId: params.orgId }),
    }),
  }),
]
