import { z } from 'zod'
import { uuid } from '#core/schemas'
import { addGroupMembers, listGroupMembers, removeGroupMember } from '#fleet/groups/members'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { distinct, pageOf, pageQuery } from '../../http/schemas.ts'
import { deviceSchema, exampleDevice } from './device-schemas.ts'
import { groupParams } from './groups.ts'

const memberSchema = deviceSchema
  .extend({ membership: z.enum(['explicit', 'smartTag', 'both']) })
  .meta({ id: 'GroupMember' })

const tag = 'Groups'

export const groupMemberRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/groups/:id/devices',
    summary: 'List a group’s effective members',
    description: 'Returns explicit members and devices with any of the smart tags. `membership` tells the two apart.',
    tag,
    access: 'group:read',
    params: groupParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Devices, newest first.', schema: pageOf(memberSchema) } },
    handle: async (input) =>
      pageReply(
        input,
        await listGroupMembers(input.ctx, {
          organizationId: input.params.orgId,
          groupId: input.params.id,
          page: pageRequest(input),
        }),
      ),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/groups/:id/members',
    summary: 'Add explicit members to a group',
    description:
      'If a device does not exist, no device is added; the 404 response lists the missing ids in `deviceIds`.',
    tag,
    access: 'group:write',
    params: groupParams,
    body: z.strictObject({ deviceIds: distinct(uuid(), 1_000, 1) }),
    idempotent: 'replay',
    answers: {
      200: {
        description: 'The number of added devices and of devices that already were members.',
        schema: z.object({ added: z.int(), alreadyMembers: z.int() }),
      },
      ...writeErrors,
      ...limitReached('groupMembers'),
    },
    example: { body: { deviceIds: [exampleDevice.id] }, answer: { added: 1, alreadyMembers: 0 } },
    handle: async ({ ctx, params, body }) => ({
      status: 200,
      body: await addGroupMembers(ctx, { organizationId: params.orgId, groupId: params.id, deviceIds: body.deviceIds }),
    }),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/groups/:id/members/:deviceId',
    summary: 'Remove an explicit member from a group',
    tag,
    access: 'group:write',
    params: groupParams.extend({ deviceId: uuid() }),
    answers: { 204: { description: 'The device was removed.' }, ...writeErrors },
    handle: async ({ ctx, params }) => {
      await removeGroupMember(ctx, { organizationId: params.orgId, groupId: params.id, deviceId: params.deviceId })
      return { status: 204 }
    },
  }),
]
