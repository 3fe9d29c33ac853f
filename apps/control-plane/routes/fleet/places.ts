import { z } from 'zod'
import { newTag, soughtText, text, uuid } from '#core/schemas'
import { createPlace, deletePlace, updatePlace } from '#fleet-map/places/change'
import { type PlaceRevision, placeSchema } from '#fleet-map/places/place'
import { getPlace, listPlaces } from '#fleet-map/places/read'
import { entityReply, expecting, notModified, preconditionFailed } from '../../http/entity-tags.ts'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { noContent, type Route, route } from '../../http/route.ts'
import { distinct, orgParams, pageOf, pageQuery, repeatable } from '../../http/schemas.ts'
import { areaIn } from './place-schemas.ts'

const tag = 'Places'
const params = z.object({ orgId: uuid(), id: uuid() })
const maxTags = 20
const one = { description: 'The place.', schema: placeSchema, headers: ['ETag'] }
const nameTaken = { 409: { description: 'Another place in the organization has this name.' } }
const area = { type: 'Circle', lat: 51.95, lon: 4.05, radiusM: 800 }

const tagOf = ({ revision }: PlaceRevision) => `"${revision}"`

export const placeRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/places',
    summary: 'List places',
    tag,
    access: 'fleet:read',
    params: orgParams,
    query: z.strictObject({
      tag: repeatable(soughtText(64))
        .optional()
        .describe('Can be repeated. Returns places that have all of these tags.'),
      ...pageQuery,
    }),
    answers: { 200: { description: 'Places, newest first.', schema: pageOf(placeSchema) } },
    handle: (input) =>
      paged(input, (page) =>
        listPlaces(input.ctx, { organizationId: input.params.orgId, tags: input.query.tag ?? [], page }),
      ),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/places',
    summary: 'Create a place',
    description: 'A place is a named area, such as a depot or a port.',
    tag,
    access: 'place:write',
    params: orgParams,
    body: z.strictObject({ name: text(), area: areaIn, tags: distinct(newTag(), maxTags).optional() }),
    idempotent: 'replay',
    answers: {
      201: { ...one, headers: ['Location', 'ETag'] },
      ...writeErrors,
      ...limitReached('places', 'Another place has this name (`place_name_taken`).'),
    },
    example: { body: { name: 'Maasvlakte', area, tags: ['port'] } },
    handle: async ({ ctx, params: { orgId }, body }) => {
      const created = await createPlace(ctx, { organizationId: orgId, ...body })
      const headers = { Location: `/orgs/${orgId}/places/${created.place.id}`, ETag: tagOf(created) }
      return { status: 201, body: created.place, headers }
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/places/:id',
    summary: 'Get a place',
    tag,
    access: 'fleet:read',
    params,
    answers: { 200: one, ...notModified },
    handle: async ({ ctx, params: { orgId, id }, http }) => {
      const found = await getPlace(ctx, { organizationId: orgId, placeId: id })
      return entityReply(http, tagOf(found), found.place)
    },
  }),
  route({
    method: 'patch',
    path: '/orgs/:orgId/places/:id',
    summary: 'Update a place',
    tag,
    access: 'place:write',
    params,
    body: z
      .strictObject({
        name: text().optional(),
        area: areaIn.optional(),
        tags: distinct(soughtText(64), maxTags).optional(),
      })
      .refine((change) => Object.keys(change).length > 0, 'Send at least one field to change.'),
    answers: { 200: one, ...writeErrors, ...nameTaken, ...preconditionFailed },
    example: { body: { area } },
    handle: async ({ ctx, params: { orgId, id }, body, http }) => {
      const changed = await updatePlace(ctx, {
        organizationId: orgId,
        placeId: id,
        change: body,
        precondition: expecting(http, tagOf),
      })
      return entityReply(http, tagOf(changed), changed.place)
    },
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/places/:id',
    summary: 'Delete a place',
    tag,
    access: 'place:write',
    params,
    answers: {
      204: { description: 'The place was deleted.' },
      ...writeErrors,
      409: { description: 'An alert rule uses the place (`place_in_use`).' },
      ...preconditionFailed,
    },
    handle: ({ ctx, params: { orgId, id }, http }) =>
      noContent(deletePlace(ctx, { organizationId: orgId, placeId: id, precondition: expecting(http, tagOf) })),
  }),
]
