import { z } from 'zod'
import { text, uuid } from '#core/schemas'
import {
  createEnrollmentKey,
  enrollmentKeySchema,
  listEnrollmentKeys,
  revokeEnrollmentKey,
} from '#fleet/devices/credentials/enrollment-keys'
import { limitReached } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, type Route, route } from '../../http/route.ts'
import { distinct, instantIn, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Access'

const keyParams = z.object({ orgId: uuid(), id: z.string().regex(/^[0-9a-f]{16}$/) })

export const enrollmentKeyRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs/:orgId/enrollment-keys',
    summary: 'Create an enrollment key',
    description:
      'Routers use the key to enroll. With `autoCreate`, unknown serials are registered; otherwise, only registered serials can enroll. With `allowGateway`, `apps/gateway` can use the key. For `allowGateway`, you also need `device:update` and `config:apply`, because a gateway reads configurations and takes jobs.',
    tag,
    access: 'org:write',
    params: orgParams,
    body: z
      .strictObject({
        name: text(),
        autoCreate: z.boolean(),
        allowGateway: z
          .boolean()
          .default(false)
          .describe(
            'Lets a gateway report for registered devices of the organization. For devices without a token of their own, it also takes their jobs and reads their configuration with its secrets.',
          ),
        groupId: uuid()
          .optional()
          .describe(
            'Limits the gateway to the effective members of this group; to none, once the group is deleted. The key then enrolls no routers. Requires `allowGateway` and `autoCreate: false`.',
          ),
        models: distinct(text(), 100, 1).optional(),
        maxDevices: z.int().min(1).max(2_147_483_647).optional(),
        expiresAt: instantIn().optional(),
      })
      .refine(({ groupId, allowGateway, autoCreate }) => groupId === undefined || (allowGateway && !autoCreate), {
        path: ['groupId'],
        message: 'A group requires allowGateway: true and autoCreate: false.',
      }),
    idempotent: 'secret',
    answers: {
      201: {
        description: 'The key, which is returned only once.',
        schema: enrollmentKeySchema.extend({ key: z.string() }).meta({ id: 'NewEnrollmentKey' }),
      },
      ...limitReached('enrollmentKeys'),
    },
    example: { body: { name: 'Workshop', autoCreate: true, models: ['RX-500'], maxDevices: 200 } },
    handle: async ({ ctx, params, body }) =>
      created(await createEnrollmentKey(ctx, { organizationId: params.orgId, ...body })),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/enrollment-keys',
    summary: 'List enrollment keys',
    tag,
    access: 'org:write',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Keys without their secrets, newest first.', schema: pageOf(enrollmentKeySchema) } },
    handle: (input) =>
      paged(input, (page) => listEnrollmentKeys(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/enrollment-keys/:id',
    summary: 'Revoke an enrollment key',
    tag,
    access: 'org:write',
    params: keyParams,
    answers: { 204: { description: 'The key was revoked.' } },
    handle: ({ ctx, params }) =>
      noContent(revokeEnrollmentKey(ctx, { organizationId: params.orgId, keyId: params.id })),
  }),
]
