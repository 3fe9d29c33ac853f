import { z } from 'zod'
import { confirmPerson } from '#alerts/addresses/people'
import { text, uuid } from '#core/schemas'
import { personPrincipal } from '#fleet/access/person-principal'
import { roleNames } from '#fleet/access/scopes'
import { acceptInvitation } from '#people/accept'
import { invitationSchema } from '#people/invitation'
import { linkedInvitationSchema, readInvitationLink } from '#people/invitation-links'
import { invite, listInvitations, withdrawInvitation } from '#people/invite'
import { limitReached } from '../../http/openapi-errors.ts'
import { requireOwnPage } from '../../http/own-page.ts'
import { paged } from '../../http/paging.ts'
import { created, noContent, ok, type Route, route } from '../../http/route.ts'
import { orgParams, pageOf, pageQuery } from '../../http/schemas.ts'
import { callerSchema, countSignIn, signedIn, tooMany } from './sign-in.ts'

const tag = 'People'

const link = z.string().max(200).describe('The token of the link.')
const linkInvalid = {
  404: { description: '`link_invalid`: the invitation was accepted, withdrawn or replaced, or has expired.' },
}

export const invitationRoutes: Route[] = [
  route({
    method: 'post',
    path: '/orgs/:orgId/invitations',
    summary: 'Invite a person',
    description:
      'The service sends a link to the address within seconds. Without a mail server, `url` is the link, which is returned only once. It is valid for 7 days. A new invitation of the same address replaces the earlier one. You can give a role whose scopes you hold.',
    tag,
    access: 'key:manage',
    params: orgParams,
    body: z.strictObject({ email: z.email().max(254), role: z.enum(roleNames) }),
    idempotent: 'secret',
    answers: {
      201: {
        description: 'The invitation.',
        schema: invitationSchema
          .extend({
            url: z.url().nullable().describe('The link; null if the service sends it to the address.'),
          })
          .meta({ id: 'NewInvitation' }),
      },
      ...limitReached(
        'people',
        'The person belongs to the organization already (`person_exists`), or refused its messages (`address_refused`).',
      ),
      429: {
        description:
          'An invitation was sent within the last minute, or five within a day (`invitation_too_soon`), or too many requests. Wait for the time in `Retry-After`.',
      },
    },
    example: { body: { email: 'ada@example.com', role: 'operator' } },
    handle: async ({ ctx, services, params, body }) =>
      created(await invite(ctx, { organizationId: params.orgId, ...body, pageUrl: services.publicBaseUrl })),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/invitations',
    summary: 'List invitations',
    tag,
    access: 'key:manage',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: {
      200: {
        description: 'Invitations that were not accepted, newest first. Expired ones stay for 30 days.',
        schema: pageOf(invitationSchema),
      },
    },
    handle: (input) => paged(input, (page) => listInvitations(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/invitations/:id',
    summary: 'Withdraw an invitation',
    description: 'Its link stops working at once.',
    tag,
    access: 'key:manage',
    params: z.object({ orgId: uuid(), id: uuid() }),
    answers: { 204: { description: 'The invitation was withdrawn.' } },
    handle: ({ ctx, params }) =>
      noContent(withdrawInvitation(ctx, { organizationId: params.orgId, invitationId: params.id })),
  }),
  route({
    method: 'post',
    path: '/auth/invitation-links',
    operationId: 'getInvitationByLink',
    summary: 'Get the invitation of a link',
    description: 'For the web page, which the links open. Changes nothing.',
    tag,
    access: 'public',
    body: z.strictObject({ link }),
    bodyLimitBytes: 4 * 1024,
    answers: {
      200: { description: 'What the link is about.', schema: linkedInvitationSchema },
      ...linkInvalid,
      ...tooMany,
    },
    example: { body: { link: 'fli_4f1c0de27a11c3e9_…' } },
    handle: async ({ ctx, services, body, http }) => {
      await countSignIn(services, http)
      return ok(await readInvitationLink(ctx.pool, body.link))
    },
  }),
  route({
    method: 'post',
    path: '/auth/invitation-acceptances',
    operationId: 'acceptInvitation',
    summary: 'Accept an invitation',
    description: 'Uses the link up, and signs the person in with the session cookie. For the web page.',
    tag,
    access: 'public',
    body: z.strictObject({
      link,
      name: text().describe('The name of the person, as colleagues see it. Ignored if the invitation knows the name.'),
    }),
    bodyLimitBytes: 4 * 1024,
    answers: {
      201: { description: 'The caller of the session.', schema: callerSchema, headers: ['Set-Cookie'] },
      403: { description: '`forged_request`: the request does not come from the web page.' },
      ...linkInvalid,
      ...tooMany,
    },
    example: { body: { link: 'fli_4f1c0de27a11c3e9_…', name: 'Ada Byron' } },
    handle: async ({ ctx, services, body, http }) => {
      requireOwnPage(http)
      await countSignIn(services, http)
      const { requestId } = ctx
      const { personId, organizationId, email, isConfirmed } = await acceptInvitation(ctx.pool, {
        token: body.link,
        name: body.name,
        requestId,
      })
      if (isConfirmed) await confirmPerson(ctx.pool, { organizationIds: [organizationId], email })
      const principal = await personPrincipal({ db: ctx.pool, plans: ctx.plans }, personId)
      if (!principal) throw new Error('A person who joined has no role.')
      return signedIn({ services, http, who: { personId }, principal, requestId })
    },
  }),
]
