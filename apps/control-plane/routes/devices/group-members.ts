import { z } from 'zod'
import { uuid } from '#core/schemas'
import { addGroupMembers, groupMemberSchema, listGroupMembers, removeGroupMember } from '#fleet/groups/members'
import { limitReached, writeErrors } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { noContent, ok, type Route, route } from '../../http/route.ts'
import { distinct, pageOf, pageQuery } from '../../http/schemas.ts'
import { exampleDevice } from './device-schemas.ts'
import { groupParams } from './groups.ts'

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
    answers: { 200: { description: 'Devices, newest first.', schema: pageOf(groupMemberSchema) } },
    handle: (input) =>
      paged(input, (page) =>
        listGroupMembers(input.ctx, {
          organizationId: input.params.orgId,
          groupId: input.params.id,
          page,
        }),
      ),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/groups/:id/members',
    operationId: 'addGroupMembers',
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
        schema: z.object({ added: z.int(), alreadyMembers: z.int() }).meta({ id: 'AddedMembers' }),
      },
      ...writeErrors,
      ...limitReached('groupMembers'),
    },
    example: { body: { deviceIds: [exampleDevice.id] }, answer: { added: 1, alreadyMembers: 0 } },
    handle: async ({ ctx, params, body }) =>
      ok(await addGroupMembers(ctx, { organizationId: params.orgId, groupId: params.id, deviceIds: body.deviceIds })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/groups/:id/members/:deviceId',
    summary: 'Remove an explicit member from a group',
    tag,
    access: 'group:write',
    params: groupParams.extend({ deviceId: uuid() }),
    answers: { 204: { description: 'The device was removed.' }, ...writeErrors },
    handle: ({ ctx, params }) =>
      noContent(
        removeGroupMember(ctx, { organizationId: params.orgId, groupId: params.id, deviceId: params.deviceId }),
      ),
  }),
]
