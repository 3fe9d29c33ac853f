import { z } from 'zod'
import { uuid } from '#core/schemas'
import { listSimAdvice } from '#fleet-map/sim-advice/read'
import { simAdviceSchema, simTotalSchema } from '#fleet-map/sim-advice/stored'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { pageOf, pageQuery, repeatable } from '../../http/schemas.ts'
import { comparisonQuery, lastComparisonFields } from './comparison-schemas.ts'
import { hidden, planned } from './fleet-answers.ts'

const maxDevices = 200

export const simAdviceRoutes: Route[] = [
  route({
    method: 'get',
    path: '/fleet/sim-advice',
    summary: 'List SIMs by what another operator would save',
    description:
      "Compares the minutes without service of each modem with what the fleet's own votes say of other operators in the same H3 cells of resolution 10. In cells without votes of an operator, the minutes count as today; if that is more than half of the minutes, the operator is not known. Compared together with radio health: each night, every ten minutes on the first day of an organization with up to 10,000 devices, and on request. Modems without a position are not listed.",
    tag: 'Fleet GPS',
    access: 'fleet:read',
    query: z.strictObject({
      ...comparisonQuery,
      deviceId: repeatable(uuid(), maxDevices).optional().describe(`Can be repeated, up to ${maxDevices} times.`),
      ...pageQuery,
    }),
    answers: {
      200: {
        description: 'SIMs, the greatest gain first.',
        schema: pageOf(simAdviceSchema).extend({
          ...lastComparisonFields,
          total: simTotalSchema.nullable().describe('All SIMs that match. Null on later pages.'),
        }),
      },
      ...planned,
      ...hidden,
    },
    async handle(input) {
      const { items, nextAfter, ...rest } = await listSimAdvice(input.ctx, input.query, pageRequest(input))
      const reply = pageReply(input, { items, nextAfter })
      return { ...reply, body: { ...rest, ...(reply.body as object) } }
    },
  }),
]
