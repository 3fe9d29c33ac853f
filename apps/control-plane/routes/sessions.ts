import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { endSession, listSessions } from '#fleet/access/sessions'
import { pageReply, pageRequest } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import { pageOf, pageQuery } from '../http/schemas.ts'
import { callerOf, callerSchema } from './sign-in.ts'

const tag = 'Sign-in'

const sessionSchema = z
  .object({
    id: uuid(),
    current: z.boolean().describe('Whether it is the session of this request.'),
    userAgent: z.string().nullable().describe('The browser, as it describes itself.'),
    createdAt: instantOut(),
    lastUsedAt: instantOut().nullable().describe('To within a minute.'),
    expiresAt: instantOut(),
  })
  .meta({ id: 'Session' })

export const sessionRoutes: Route[] = [
  route({
    method: 'get',
    path: '/auth/me',
    summary: 'Get the caller',
    description: 'Who the credentials of this request belong to, and the scopes in each organization.',
    tag,
    access: 'principal',
    answers: { 200: { description: 'The caller.', schema: callerSchema } },
    handle: async ({ ctx }) => ({ status: 200, body: callerOf(ctx.principal) }),
  }),
  route({
    method: 'get',
    path: '/auth/sessions',
    summary: 'List your sign-in sessions',
    description: 'The sessions of the same user, or those that began with a sign-in link of the same API key.',
    tag,
    access: 'principal',
    query: z.strictObject(pageQuery),
    answers: { 200: { description: 'Sessions that have not ended, newest first.', schema: pageOf(sessionSchema) } },
    handle: async (input) => pageReply(input, await listSessions(input.ctx, { page: pageRequest(input) })),
  }),
  route({
    method: 'delete',
    path: '/auth/sessions/:id',
    summary: 'End one of your sign-in sessions',
    description: 'The session stops working within 5 seconds.',
    tag,
    access: 'principal',
    params: z.object({ id: uuid() }),
    answers: { 204: { description: 'The session has ended.' }, 403: { description: 'Forged requests are refused.' } },
    handle: async ({ ctx, params }) => {
      await endSession(ctx, { sessionId: params.id })
      return { status: 204 }
    },
  }),
]
