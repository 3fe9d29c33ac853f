import { z } from 'zod'
import { type Route, route } from '../http/route.ts'

const planSchema = z
  .object({
    name: z.string(),
    deviceQuota: z.int().describe('Maximum number of devices, unless the subscription overrides it.'),
    requestsPerMinute: z.int(),
    historyDays: z.int(),
    features: z.object({ smartTagGroups: z.boolean(), fleetGps: z.boolean(), coverage: z.boolean() }),
  })
  .meta({ id: 'Plan' })

export const planRoutes: Route[] = [
  route({
    method: 'get',
    path: '/plans',
    summary: 'List plans',
    description: 'The plans that an organization can have, with their limits.',
    tag: 'Organizations',
    access: 'principal',
    answers: { 200: { description: 'All plans.', schema: z.object({ items: z.array(planSchema) }) } },
    handle: async ({ ctx }) => ({
      status: 200,
      body: {
        items: Object.entries(ctx.plans).map(([name, plan]) => ({
          name,
          deviceQuota: plan.deviceQuota,
          requestsPerMinute: plan.requestsPerMinute,
          historyDays: plan.historyDays,
          features: { smartTagGroups: plan.smartTagGroups, fleetGps: plan.fleetGps, coverage: plan.coverage },
        })),
      },
    }),
  }),
]
