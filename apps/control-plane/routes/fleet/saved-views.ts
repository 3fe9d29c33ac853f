import { z } from 'zod'
import { instantOut, text, uuid } from '#core/schemas'
import { deleteView, listViews, saveView } from '#fleet-map/views/saved-views'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Saved views'

const viewSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    place: z.string().describe('The address of the view after `#/`.'),
    shared: z.boolean().describe('True if everybody in the organization sees the view.'),
    isOwn: z.boolean().describe('True if you saved the view.'),
    createdAt: instantOut(),
  })
  .meta({ id: 'SavedView' })

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
    answers: { 200: { description: 'Views, newest first.', schema: pageOf(viewSchema) } },
    handle: async (input) =>
      pageReply(input, await listViews(input.ctx, { organizationId: input.params.orgId, page: pageRequest(input) })),
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
      201: { description: 'The view.', schema: viewSchema },
      ...writeErrors,
      ...limitReached('savedViews'),
    },
    example: { body: { name: 'Night shift', place: 'map?tag=truck&metric=sinr', shared: true } },
    handle: async ({ ctx, params: { orgId }, body }) => ({
      status: 201,
      body: await saveView(ctx, { organizationId: orgId, ...body }),
    }),
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
    handle: async ({ ctx, params: { orgId, id } }) => {
      await deleteView(ctx, { organizationId: orgId, viewId: id })
      return { status: 204 }
    },
  }),
]
