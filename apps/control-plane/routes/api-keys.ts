import { z } from 'zod'
import { createApiKey, listApiKeys, revokeApiKey } from '#fleet/access/api-keys'
import { roleNames, scopes, scopesOfRole } from '#fleet/access/scopes'
import { pageReply, pageRequest } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import { instantIn, instantOut, listOf, orgParams, pageOf, pageQuery, text, uuid } from '../http/schemas.ts'

const tag = 'Access'

/** `scopes` or `role`, exactly one. `platform` is a known word, so that asking for it is refused and not misread. */
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
const exactlyOneMessage = { message: 'Send scopes or role, exactly one.' }
const scopesOf = ({ scopes: listed, role }: GrantFields) => listed ?? (role ? scopesOfRole[role] : [])

const grantSchema = z.object({ organizationId: uuid(), scopes: z.array(z.enum(scopes)) })
const apiKeySchema = z
  .object({
    id: z.string(),
    name: z.string(),
    scopes: z.array(z.enum(scopes)).describe('What it may do in this organization.'),
    alsoIn: z.array(grantSchema).describe('Further organizations; shown only where the key belongs.'),
    createdBy: z.string(),
    createdAt: instantOut(),
    expiresAt: instantOut().nullable(),
  })
  .meta({ id: 'ApiKey' })

const keyParams = z.object({ orgId: uuid(), id: z.string().regex(/^[0-9a-f]{16}$/) })

export const apiKeyRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs/:orgId/api-keys',
    summary: 'Create an API key',
    description:
      'The key is shown once. It may be given scopes its creator holds, here and, with `alsoIn`, in further organizations in which its creator holds `key:manage` and those scopes.',
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
          .describe('Default: an empty list.'),
        expiresAt: instantIn().optional(),
      })
      .refine(exactlyOne, exactlyOneMessage),
    idempotent: 'secret',
    answers: {
      201: {
        description: 'The key, shown once.',
        schema: apiKeySchema
          .pick({ id: true, name: true, scopes: true })
          .extend({ key: z.string() })
          .meta({ id: 'NewApiKey' }),
      },
    },
    example: { body: { name: 'Fleet dashboard', role: 'viewer' } },
    handle: async ({ ctx, params, body }) => {
      const home = { organizationId: params.orgId, scopes: scopesOf(body) }
      const further = body.alsoIn.map((grant) => ({ organizationId: grant.organizationId, scopes: scopesOf(grant) }))
      const {
        id,
        name,
        scopes: granted,
        key,
      } = await createApiKey(ctx, {
        name: body.name,
        grants: [home, ...further],
        expiresAt: body.expiresAt,
      })
      return { status: 201, body: { id, name, scopes: granted, key } }
    },
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/api-keys',
    summary: 'List the keys that open the organization',
    tag,
    access: 'key:manage',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Newest first, without their secrets.', schema: pageOf(apiKeySchema) } },
    handle: async (input) => pageReply(input, await listApiKeys(input.ctx, input.params.orgId, pageRequest(input))),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/api-keys/:id',
    summary: 'Revoke an API key',
    description:
      'Within 5 s everywhere, with every access token derived from it. Another organization’s key loses what it was given here.',
    tag,
    access: 'key:manage',
    params: keyParams,
    answers: { 204: { description: 'Revoked.' } },
    handle: async ({ ctx, params }) => {
      await revokeApiKey(ctx, params.orgId, params.id)
      return { status: 204 }
    },
  }),
]
