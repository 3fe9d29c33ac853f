import { z } from 'zod'
import { uuid } from '#core/schemas'
import { radioHealthSchema } from '#fleet-map/radio-health/health'
import { listRadioHealth, readDeviceRadioHealth } from '#fleet-map/radio-health/read'
import { radioHealthRunSchema, requestRadioHealth } from '#fleet-map/radio-health/request'
import { radioStatuses } from '#telemetry/radio-health/radio-health'
import { writeErrors } from '../../http/openapi-errors.ts'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { requestReader } from '../../http/request-reader.ts'
import { type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery, repeatable } from '../../http/schemas.ts'
import { deviceParams } from '../devices/device-schemas.ts'
import { comparisonQuery, lastComparisonFields } from './comparison-schemas.ts'
import { hidden, planned } from './fleet-answers.ts'

const tag = 'Radio health'
const cellSchema = z.object({
  h3: z.string(),
  rat: z.string(),
  cellId: z.string().nullable(),
  pci: z.number().nullable().describe('With `arfcn`, the serving cell if the router did not send its identity.'),
  arfcn: z.number().nullable(),
  rsrpDbm: z.number().describe('Median RSRP of this radio.'),
  neighboursDbm: z.number().describe('Median of the medians of the other devices.'),
  differenceDb: z.number().describe('Negative is weaker than the neighbours.'),
  comparedDevices: z.int(),
})

const deviceHealthSchema = z
  .object({
    deviceId: uuid(),
    ...lastComparisonFields,
    radios: z.array(
      radioHealthSchema.extend({
        cells: z
          .array(cellSchema)
          .describe(
            'Shared cells, those in which the radio is weakest first: at most 100, of the 500 places in which the device has most votes, and without places in which the fleet has hundreds of thousands.',
          ),
      }),
    ),
  })
  .meta({ id: 'DeviceRadioHealth' })

export const radioHealthRoutes: Route[] = [
  route({
    method: 'get',
    path: '/fleet/radio-health',
    summary: 'List radios, weakest first',
    description:
      'Compares the RSRP of each modem with other devices of the same organization, in the same H3 cell of resolution 10 and on the same serving cell, over 30 days or the history of the plan. The comparison runs each night, and every ten minutes on the first day of an organization with up to 10,000 devices. Modems that measured nothing are not listed.',
    tag,
    access: 'fleet:read',
    query: z.strictObject({
      ...comparisonQuery,
      status: repeatable(z.enum(radioStatuses)).optional().describe('Can be repeated. By default, all statuses.'),
      ...pageQuery,
    }),
    answers: {
      200: { description: 'Radios, worst first.', schema: pageOf(radioHealthSchema).extend(lastComparisonFields) },
      ...planned,
      ...hidden,
    },
    async handle(input) {
      const { items, nextAfter, ...run } = await listRadioHealth(input.ctx, input.query, pageRequest(input))
      const reply = pageReply(input, { items, nextAfter })
      return { ...reply, body: { ...run, ...(reply.body as object) } }
    },
  }),
  route({
    method: 'get',
    path: '/devices/:id/radio-health',
    summary: 'Get the radio health of a device',
    description: 'Returns the last comparison of each modem, and the shared cells behind it.',
    tag,
    access: 'fleet:read',
    params: deviceParams,
    answers: { 200: { description: 'The modems of the device, worst first.', schema: deviceHealthSchema }, ...planned },
    handle: async (input) => ({
      status: 200,
      body: await readDeviceRadioHealth(input.ctx, requestReader(input), input.params.id),
    }),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/radio-health-runs',
    summary: 'Compare the radios now',
    description:
      'Starts a comparison within seconds. An organization has one at a time: while one waits or runs, the response describes that one.',
    tag,
    access: 'org:write',
    params: orgParams,
    answers: {
      202: { description: 'The comparison that waits or runs.', schema: radioHealthRunSchema },
      ...writeErrors,
      ...planned,
    },
    handle: async ({ ctx, params: { orgId } }) => ({
      status: 202,
      body: await requestRadioHealth(ctx, { organizationId: orgId }),
    }),
  }),
]
