import { z } from 'zod'
import { text, uuid } from '#core/schemas'
import { endAnySession, endOrganizationSession, endSession } from '#fleet/access/end-sessions'
import {
  listAllSessions,
  listOrganizationSessions,
  listSessions,
  organizationSessionSchema,
  platformSessionSchema,
  sessionSchema,
} from '#fleet/access/list-sessions'
import { rename } from '#people/rename'
import { paged } from '../../http/paging.ts'
import { noContent, ok, type Route, route } from '../../http/route.ts'
import { flag, orgParams, pageOf, pageQuery } from '../../http/schemas.ts'
import { callerOf, callerSchema } from './sign-in.ts'

const tag = 'Sign-in'

export const sessionRoutes: Route[] = [
  route({
    method: 'get',
    path: '/auth/me',
    summary: 'Get the caller',
    description: 'Who the credentials of this request belong to, and the scopes in each organization.',
    tag,
    access: 'principal',
    answers: { 200: { description: 'The caller.', schema: callerSchema } },
    handle: async ({ ctx }) => ok(callerOf(ctx.principal)),
  }),
  route({
    method: 'patch',
    path: '/auth/me',
    summary: 'Change your name',
    description: 'For people who joined with an invitation: how colleagues see them, in all their organizations.',
    tag: 'People',
    access: 'principal',
    body: z.strictObject({ name: text() }),
    answers: {
      200: { description: 'The caller.', schema: callerSchema },
      403: { description: '`person_required`: the caller is an API key, or a user of the identity provider.' },
    },
    example: { body: { name: 'Ada Byron' } },
    handle: async ({ ctx, body }) => ok(callerOf(await rename(ctx, body))),
  }),
  route({
    method: 'get',
    path: '/auth/sessions',
    operationId: 'listOwnSessions',
    summary: 'List your sign-in sessions',
    description:
      'The sessions of the same person or user, or those that began with a sign-in link of the same API key.',
    tag,
    access: 'principal',
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Sessions that have not ended, newest first.', schema: pageOf(sessionSchema) } },
    handle: (input) => paged(input, (page) => listSessions(input.ctx, { page })),
  }),
  route({
    method: 'delete',
    path: '/auth/sessions/:id',
    operationId: 'deleteOwnSession',
    summary: 'End one of your sign-in sessions',
    description: 'The session stops working within 5 seconds.',
    tag,
    access: 'principal',
    params: z.object({ id: uuid() }),
    answers: { 204: { description: 'The session has ended.' }, 403: { description: 'Forged requests are refused.' } },
    handle: ({ ctx, params }) => noContent(endSession(ctx, { sessionId: params.id })),
  }),
  route({
    method: 'get',
    path: '/sessions',
    operationId: 'listPlatformSessions',
    summary: 'List the sign-in sessions of all people',
    tag,
    access: 'platform',
    query: z.strictObject({
      platform: flag().optional().describe('Only sessions of platform administrators, or only those of other people.'),
      ...pageQuery,
    }),
    answers: {
      200: { description: 'Sessions that have not ended, newest first.', schema: pageOf(platformSessionSchema) },
    },
    handle: (input) => paged(input, (page) => listAllSessions(input.ctx, { platform: input.query.platform, page })),
  }),
  route({
    method: 'delete',
    path: '/sessions/:id',
    operationId: 'deletePlatformSession',
    summary: 'End the sign-in session of any person',
    description:
      'The session stops working within 5 seconds. The person can sign in again: to prevent that, revoke the API key, or remove the person or the role at the identity provider.',
    tag,
    access: 'platform',
    params: z.object({ id: uuid() }),
    answers: { 204: { description: 'The session has ended.' } },
    handle: ({ ctx, params }) => noContent(endAnySession(ctx, { sessionId: params.id })),
  }),
  route({
    method: 'get',
    path: '/orgs/:orgId/sessions',
    operationId: 'listOrganizationSessions',
    summary: 'List the sign-in sessions of an organization',
    description:
      'The sessions that began with a sign-in link of an API key of the organization, and those of people and of users to whom the identity provider gives a role in it.',
    tag,
    access: 'key:manage',
    params: orgParams,
    query: z.strictObject(pageQuery),
    answers: {
      200: { description: 'Sessions that have not ended, newest first.', schema: pageOf(organizationSessionSchema) },
    },
    handle: (input) =>
      paged(input, (page) => listOrganizationSessions(input.ctx, { organizationId: input.params.orgId, page })),
  }),
  route({
    method: 'delete',
    path: '/orgs/:orgId/sessions/:id',
    operationId: 'deleteOrganizationSession',
    summary: 'End a sign-in session of an organization',
    description:
      'The session stops working within 5 seconds, in all organizations of the person. The person can sign in again: to prevent that, revoke the API key, or remove the person or the role at the identity provider.',
    tag,
    access: 'key:manage',
    params: z.object({ orgId: uuid(), id: uuid() }),
    answers: { 204: { description: 'The session has ended.' } },
    handle: ({ ctx, params }) =>
      noContent(endOrganizationSession(ctx, { organizationId: params.orgId, sessionId: params.id })),
  }),
]
