import { z } from 'zod'
import { text, uuid } from '#core/schemas'
import { createGroup, deleteGroup, updateGroup } from '#fleet/groups/change'
import { type GroupRevision, getGroup, groupSchema, listGroups } from '#fleet/groups/read'
import { entityReply, expecting, notModified, preconditionFailed } from '../../http/entity-tags.ts'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery, soughtTags } from '../../http/schemas.ts'

export const groupParams = z.object({ orgId: uuid(), id: uuid() })

const tag = 'Groups'
const one = { description: 'The group.', schema: groupSchema, headers: ['ETag'] }
const nameTaken = { 409: { description: 'Another group in the organization has this name.' } }
const planFeature = {
  403: { description: 'A scope is missing, or the plan does not include smart tags (`plan_feature`).' },
}

// The counts change when devices' tags change, so the entity tag contains them.
const tagOf = ({ group, revision }: GroupRevision) =>
  `"${revision}-${group.explicitDeviceCount}-${group.effectiveDeviceCount}"`

export const groupRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/groups',
    summary: 'List groups',
    tag,
    access: 'group:read',
    params: orgParams,
    query: z.strictObject({
      deviceId: uuid().optional().describe('Returns groups of which this device is an effective member.'),
      ...pageQuery,
    }),
    answers: { 200: { description: 'Groups with their device counts, newest first.', schema: pageOf(groupSchema) } },
    handle: (input) =>
      paged(input, (page) =>
        listGroups(input.ctx, {
          organizationId: input.params.orgId,
          deviceId: input.query.deviceId,
          page,
        }),
      ),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/groups',
    summary: 'Create a group',
    tag,
    access: 'group:write',
    params: orgParams,
    body: z.strictObject({ name: text(), smartTags: soughtTags().optional() }),
    idempotent: 'replay',
    answers: {
      201: { ...one, headers: ['Location', 'ETag'] },
      ...writeErrors,
      ...planFeature,
      ...limitReached('groups', 'Another group in the organization has this name (`group_name_taken`).'),
    },
    example: { body: { name: 'Night buses', smartTags: ['bus', 'night'] } },
    handle: async ({ ctx, params, body }) => {
      const made = await createGroup(ctx, { organizationId: params.orgId, ...body })
      const headers = { Location: `/orgs/${params.orgId}/groups/${made.group.id}`, ETag: tagOf(made) }
      return created(made.group, headers)
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/groups/:id',
    summary: 'Get a group',
    tag,
    access: 'group:read',
    params: groupParams,
    answers: { 200: one, ...notModified },
    handle: async ({ ctx, params, http }) => {
      const found = await getGroup(ctx, { organizationId: params.orgId, groupId: params.id })
      return entityReply(http, tagOf(found), found.group)
    },
  }),
  route({
    method: 'patch',
    path: '/orgs/:orgId/groups/:id',
    summary: 'Update a group',
    tag,
    access: 'group:write',
    params: groupParams,
    body: z
      .strictObject({ name: text().optional(), smartTags: soughtTags().optional() })
      .refine((change) => Object.keys(change).length > 0, 'Send at least one field to change.'),
    answers: { 200: one, ...writeErrors, ...planFeature, ...nameTaken, ...preconditionFailed },
    example: { body: { smartTags: ['bus'] } },
    handle: async ({ ctx, params, body, http }) => {
      const changed = await updateGroup(ctx, {
        organizationId: params.orgId,
        groupId: params.id,
        change: body,
        precondition: expecting(http, tagOf),
      })
      return entityReply(http, tagOf(changed), changed.group)
    },
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/groups/:id',
    summary: 'Delete a group',
    description: 'The devices of the group are not deleted.',
    tag,
    access: 'group:write',
    params: groupParams,
    answers: { 204: { description: 'The group was deleted.' }, ...writeErrors, ...preconditionFailed },
    handle: ({ ctx, params, http }) =>
      noContent(
        deleteGroup(ctx, { organizationId: params.orgId, groupId: params.id, precondition: expecting(http, tagOf) }),
      ),
  }),
]
