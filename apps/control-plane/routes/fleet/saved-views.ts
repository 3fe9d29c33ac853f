import { z } from 'zod'
import { text, uuid } from '#core/schemas'
import { deleteView, listViews, savedViewSchema, saveView } from '#fleet-map/views/saved-views'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Saved views'

/** Routes of the views of the web page that callers saved. */
export const savedViewRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/views',
    summary: 'List saved views',
    description: 'Returns the views that you saved, and those that others shared.',
    tag,
    access: 'fleet:read',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Views, newest first.', schema: pageOf(savedViewSchema) } },
    handle: (input) => paged(input, (page) => listViews(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/views',
    summary: 'Save a view',
    tag,
    access: 'fleet:read',
    params: orgParams,
    body: z.strictObject({
      name: text(100),
      place: text(2_000).regex(/^[a-z-]+(\?\S*)?$/, 'Expected the address of a view, such as `map?group=…`.'),
      shared: z
        .boolean()
        .optional()
        .describe(
          'Shows the view to everybody in the organization, for which you also need `org:write`. Default: false.',
        ),
    }),
    idempotent: 'replay',
    answers: {
      201: { description: 'The view.', schema: savedViewSchema },
      ...writeErrors,
      ...limitReached('savedViews'),
    },
    example: { body: { name: 'Night shift', place: 'map?tag=truck&metric=sinr', shared: true } },
    handle: async ({ ctx, params: { orgId }, body }) =>
      created(await saveView(ctx, { organizationId: orgId, ...body })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/views/:id',
    summary: 'Delete a saved view',
    description: 'You can delete your own views and, with `org:write`, shared ones.',
    tag,
    access: 'fleet:read',
    params: z.object({ orgId: uuid(), id: uuid() }),
    answers: { 204: { description: 'The view was deleted.' }, ...writeErrors },
    handle: ({ ctx, params: { orgId, id } }) => noContent(deleteView(ctx, { organizationId: orgId, viewId: id })),
  }),
]
