import { z } from 'zod'
import { text, uuid } from '#core/schemas'
import {
  apiKeySchema,
  createApiKey,
  listApiKeys,
  newApiKeySchema,
  revokeApiKey,
  rotateApiKey,
} from '#fleet/access/api-keys'
import { roleNames, scopes, scopesOfRole } from '#fleet/access/scopes'
import { limitReached } from '../../http/openapi-errors.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, type Route, route } from '../../http/route.ts'
import { instantIn, listOf, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

const tag = 'Access'

/** Either `scopes` or `role`. The schema accepts `platform`, so that the verb can return 403 for it. */
const grantFields = {
  scopes: listOf(
    scopes.length + 1,
    z
      .array(z.enum([...scopes, 'platform']))
      .min(1)
      .max(scopes.length + 1),
  ).optional(),
  role: z.enum(roleNames).optional(),
}
type GrantFields = { scopes?: z.infer<typeof grantFields.scopes>; role?: z.infer<typeof grantFields.role> }

const exactlyOne = ({ scopes: listed, role }: GrantFields) => (listed === undefined) !== (role === undefined)
const exactlyOneMessage = { message: 'Send either scopes or role.' }
const scopesOf = ({ scopes: listed, role }: GrantFields) => listed ?? (role ? scopesOfRole[role] : [])

const maxGraceMinutes = 7 * 24 * 60

const keyParams = z.object({ orgId: uuid(), id: z.string().regex(/^[0-9a-f]{16}$/) })

export const apiKeyRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs/:orgId/api-keys',
    summary: 'Create an API key',
    description:
      'The key is returned only once. You can grant scopes that you hold. With `alsoIn`, the key also works in other organizations in which you hold `key:manage` and the granted scopes.',
    tag,
    access: 'key:manage',
    params: orgParams,
    body: z
      .strictObject({
        name: text(),
        ...grantFields,
        alsoIn: listOf(
          100,
          z
            .array(z.strictObject({ organizationId: uuid(), ...grantFields }).refine(exactlyOne, exactlyOneMessage))
            .max(100),
        )
          .default([])
          .describe('Grants in other organizations; an empty list by default.'),
        expiresAt: instantIn().optional(),
      })
      .refine(exactlyOne, exactlyOneMessage),
    idempotent: 'secret',
    answers: {
      201: {
        description: 'The key, which is returned only once.',
        schema: newApiKeySchema,
      },
      ...limitReached('apiKeys'),
    },
    example: { body: { name: 'Fleet dashboard', role: 'viewer' } },
    handle: async ({ ctx, params, body }) => {
      const home = { organizationId: params.orgId, scopes: scopesOf(body) }
      const further = body.alsoIn.map((grant) => ({ organizationId: grant.organizationId, scopes: scopesOf(grant) }))
      const { name, expiresAt } = body
      return created(await createApiKey(ctx, { name, grants: [home, ...further], expiresAt }))
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/api-keys',
    summary: 'List API keys',
    tag,
    access: 'key:manage',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: {
      200: {
        description: 'Keys with access to the organization, without their secrets, newest first.',
        schema: pageOf(apiKeySchema),
      },
    },
    handle: (input) => paged(input, (page) => listApiKeys(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/api-keys/:id/rotate',
    summary: 'Rotate an API key',
    description:
      'Creates a key with the same name, scopes and expiry, and ends the old key after a grace period. Only the organization that owns the key can rotate it, and you must hold its scopes.',
    tag,
    access: 'key:manage',
    params: keyParams,
    body: z.strictObject({
      oldKeyExpiresInMinutes: z
        .int()
        .min(0)
        .max(maxGraceMinutes)
        .default(60)
        .describe('How long the old key continues to work. 0 revokes it at once.'),
    }),
    idempotent: 'secret',
    answers: {
      201: { description: 'The new key, which is returned only once.', schema: newApiKeySchema },
      ...limitReached('apiKeys'),
    },
    example: { body: { oldKeyExpiresInMinutes: 60 } },
    handle: async ({ ctx, params, body }) =>
      created(await rotateApiKey(ctx, { organizationId: params.orgId, keyId: params.id, ...body })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/api-keys/:id',
    summary: 'Revoke an API key',
    description:
      'Revokes the key and all access tokens issued for it within 5 seconds. A key of another organization loses its scopes in this organization only.',
    tag,
    access: 'key:manage',
    params: keyParams,
    answers: { 204: { description: 'The key was revoked.' } },
    handle: ({ ctx, params }) => noContent(revokeApiKey(ctx, { organizationId: params.orgId, keyId: params.id })),
  }),
]
