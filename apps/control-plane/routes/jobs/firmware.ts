import { z } from 'zod'
import { text, uuid } from '#core/schemas'
import { addFirmware, deleteFirmware } from '#fleet/firmware/change'
import { firmwareSchema, getFirmware, listFirmware } from '#fleet/firmware/read'
import { firmwareParameters } from '#fleet/jobs/model/kinds'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, ok, type Route, route } from '../../http/route.ts'
import { distinct, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Firmware'
const params = z.object({ orgId: uuid(), id: uuid() })

const one = { description: 'The firmware image.', schema: firmwareSchema }

/** Routes of the firmware catalogue. */
export const firmwareRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/firmware',
    summary: 'List firmware images',
    tag,
    access: 'job:read',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Firmware images, newest first.', schema: pageOf(firmwareSchema) } },
    handle: (input) => paged(input, (page) => listFirmware(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/firmware',
    summary: 'Add a firmware image',
    description:
      'Routers download the image from `url` and verify its SHA-256. A job that uses the image skips devices of other models.',
    tag,
    access: 'job:create',
    params: orgParams,
    body: firmwareParameters.extend({
      models: distinct(text(), 50).optional(),
      notes: text(1_000).nullable().optional(),
    }),
    idempotent: 'replay',
    answers: {
      201: { ...one, headers: ['Location'] },
      ...writeErrors,
      ...limitReached('firmwareImages', 'An image has this SHA-256 (`firmware_taken`).'),
    },
    example: {
      body: {
        version: '7.2.1',
        url: 'https://downloads.example.com/rx-500-7.2.1.bin',
        sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        models: ['RX-500'],
      },
    },
    handle: async ({ ctx, params: { orgId }, body }) => {
      const image = await addFirmware(ctx, { organizationId: orgId, ...body })
      return created(image, { Location: `/orgs/${orgId}/firmware/${image.id}` })
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/firmware/:id',
    summary: 'Get a firmware image',
    tag,
    access: 'job:read',
    params,
    answers: { 200: one },
    handle: async ({ ctx, params: { orgId, id } }) =>
      ok(await getFirmware(ctx, { organizationId: orgId, imageId: id })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/firmware/:id',
    summary: 'Delete a firmware image',
    description: 'Jobs that use the image continue.',
    tag,
    access: 'job:create',
    params,
    answers: { 204: { description: 'The firmware image was deleted.' }, ...writeErrors },
    handle: ({ ctx, params: { orgId, id } }) => noContent(deleteFirmware(ctx, { organizationId: orgId, imageId: id })),
  }),
]
