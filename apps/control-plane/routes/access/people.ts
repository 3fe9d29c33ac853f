import { z } from 'zod'
import { pageAddress } from '#core/page-address'
import { uuid } from '#core/schemas'
import { roleNames } from '#fleet/access/scopes'
import { changeRole, createPersonLink, listPeople, personSchema, removePerson } from '#people/members'
import { paged } from '../../http/paging.ts'
import { created, noContent, ok, type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery } from '../../http/schemas.ts'

import { signInLinkSchema } from './sign-in.ts'

const tag = 'People'

const personParams = z.object({ orgId: uuid(), id: uuid() })

export const peopleRoutes: Route[] = [
  route({
    method: 'get',
    path: '/orgs/:orgId/people',
    summary: 'List people',
    description:
      'The people who accepted an invitation to the organization. Users to whom only the identity provider gives a role are not listed.',
    tag,
    access: 'key:manage',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: {
      200: { description: 'People, in the order in which they were first known.', schema: pageOf(personSchema) },
    },
    handle: (input) => paged(input, (page) => listPeople(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'patch',
    path: '/orgs/:orgId/people/:id',
    summary: 'Change the role of a person',
    description: 'Takes effect within 5 seconds. You can give a role whose scopes you hold.',
    tag,
    access: 'key:manage',
    params: personParams,
    body: z.strictObject({ role: z.enum(roleNames) }),
    answers: { 200: { description: 'The person.', schema: personSchema } },
    example: { body: { role: 'operator' } },
    handle: async ({ ctx, params, body }) =>
      ok(await changeRole(ctx, { organizationId: params.orgId, personId: params.id, role: body.role })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/people/:id',
    summary: 'Remove a person',
    description:
      'The person has no access to the organization within 5 seconds. API keys that the person created keep working.',
    tag,
    access: 'key:manage',
    params: personParams,
    answers: { 204: { description: 'The person was removed.' } },
    handle: ({ ctx, params }) => noContent(removePerson(ctx, { organizationId: params.orgId, personId: params.id })),
  }),
  route({
    method: 'post',
    path: '/orgs/:orgId/people/:id/sign-in-links',
    summary: 'Create a sign-in link for a person',
    description:
      'For people who joined without e-mail. The link works once and for 24 hours, and is returned only once. You must hold the scopes of the person’s role.',
    tag,
    access: 'key:manage',
    params: personParams,
    idempotent: 'secret',
    answers: {
      201: { description: 'The link.', schema: signInLinkSchema },
      409: { description: '`email_confirmed`: the person gets sign-in links by e-mail.' },
    },
    handle: async ({ ctx, services, params }) => {
      const { token, expiresAt } = await createPersonLink(ctx, { organizationId: params.orgId, personId: params.id })
      return created({ url: pageAddress(services.publicBaseUrl, `sign-in?link=${token}`), expiresAt })
    },
  }),
]
