import { z } from 'zod'
import { uuid } from '#core/schemas'
import { listProfileDevices, profileDeviceSchema } from '#fleet/config-profiles/devices'
import { profileSchema } from '#fleet/config-profiles/read'
import { rollBackProfile } from '#fleet/config-profiles/roll-back'
import { entityReply, expecting, preconditionFailed } from '../../http/entity-tags.ts'
import { writeErrors } from '../../http/openapi-errors.ts'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { type Route, route } from '../../http/route.ts'
import { flag, pageOf, pageQuery } from '../../http/schemas.ts'
import { profileTag } from './configs.ts'

const tag = 'Config profiles'
const params = z.object({ orgId: uuid(), id: uuid() })

/** Routes of the versions of a profile: which devices run them, and the way back to one. */
export const configVersionRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs/:orgId/configs/:id/roll-back',
    summary: 'Roll a config profile back to an earlier version',
    description:
      'Creates a new version with the content of an earlier one, including its secrets. Devices are not changed; apply the profile to change them.',
    tag,
    access: 'config:write',
    params,
    body: z.strictObject({ version: z.int().min(1).max(2_147_483_647) }),
    idempotent: 'replay',
    answers: {
      200: { description: 'The profile.', schema: profileSchema, headers: ['ETag'] },
      ...writeErrors,
      ...preconditionFailed,
    },
    example: { body: { version: 3 } },
    handle: async ({ ctx, params: { orgId, id }, body, http }) => {
      const profile = await rollBackProfile(ctx, {
        organizationId: orgId,
        profileId: id,
        version: body.version,
        precondition: expecting(http, profileTag),
      })
      return entityReply(http, profileTag(profile), profile)
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/configs/:id/devices',
    summary: 'List the devices that run a config profile',
    description: 'Requires `config:read` and `device:read`.',
    tag,
    access: 'config:read',
    params,
    query: z.strictObject({
      behind: flag().optional().describe('`true` returns only devices with an earlier version than the present one.'),
      ...pageQuery,
    }),
    answers: {
      200: {
        description: 'Devices on which the profile was last applied, oldest first.',
        schema: pageOf(profileDeviceSchema).extend({ counts: z.object({ current: z.int(), behind: z.int() }) }),
      },
    },
    handle: async (input) => {
      const { counts, ...page } = await listProfileDevices(input.ctx, {
        organizationId: input.params.orgId,
        profileId: input.params.id,
        behind: input.query.behind ?? false,
        page: pageRequest(input),
      })
      const reply = await pageReply(input, page)
      return { ...reply, body: { ...(reply.body as object), counts } }
    },
  }),
]
