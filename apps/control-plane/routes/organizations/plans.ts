import { z } from 'zod'
import { listedPlanSchema, listPlans } from '#fleet/organizations/plans'
import { paged } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { pageOf, pageQuery } from '../../http/schemas.ts'

export const planRoutes: Route[] = [
  route({
    method: 'get',
    path: '/plans',
    summary: 'List plans',
    description: 'The plans that an organization can have, with their limits.',
    tag: 'Organizations',
    access: 'principal',
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Plans, in the order of the configuration.', schema: pageOf(listedPlanSchema) } },
    handle: (input) => paged(input, (page) => listPlans(input.ctx.plans, { page })),
  }),
]
