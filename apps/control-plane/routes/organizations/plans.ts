import { z } from 'zod'
import { limitNames } from '#fleet/organizations/limit-table'
import { listPlans, type NamedPlan } from '#fleet/organizations/plans'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { pageOf, pageQuery } from '../../http/schemas.ts'

const planSchema = z
  .object({
    name: z.string(),
    deviceQuota: z.int().describe('Maximum number of devices, unless the subscription overrides it.'),
    requestsPerMinute: z.int(),
    alertMailsPerDay: z.int().describe('Most messages about alerts on a UTC day.'),
    historyDays: z.int(),
    limits: z.record(z.enum(limitNames), z.int()).describe('The most that an organization can store of each kind.'),
    features: z.object({ smartTagGroups: z.boolean(), fleetGps: z.boolean(), coverage: z.boolean() }),
  })
  .meta({ id: 'Plan' })

const toAnswer = ({ name, plan }: NamedPlan) => ({
  name,
  deviceQuota: plan.deviceQuota,
  requestsPerMinute: plan.requestsPerMinute,
  alertMailsPerDay: plan.alertMailsPerDay,
  historyDays: plan.historyDays,
  limits: plan.limits,
  features: { smartTagGroups: plan.smartTagGroups, fleetGps: plan.fleetGps, coverage: plan.coverage },
})

export const planRoutes: Route[] = [
  route({
    method: 'get',
    path: '/plans',
    summary: 'List plans',
    description: 'The plans that an organization can have, with their limits.',
    tag: 'Organizations',
    access: 'principal',
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Plans, in the order of the configuration.', schema: pageOf(planSchema) } },
    handle: async (input) => {
      const { items, nextAfter } = listPlans(input.ctx.plans, { page: pageRequest(input) })
      return pageReply(input, { items: items.map(toAnswer), nextAfter })
    },
  }),
]
