import type { Context } from 'hono'
import { z } from 'zod'
import { conflict, ServiceError } from '#core/errors'
import { pageAddress } from '#core/page-address'
import { instantOut, uuid } from '#core/schemas'
import { endSession } from '#fleet/access/end-sessions'
import { findKeysById } from '#fleet/access/key-lookup'
import { personPrincipal } from '#fleet/access/person-principal'
import type { Principal } from '#fleet/access/principal'
import { scopes } from '#fleet/access/scopes'
import { type SignedIn, startSession } from '#fleet/access/sessions'
import { createSignInLink, takeSignInLink } from '#fleet/access/sign-in-links'
import type { FleetContext } from '#fleet/context'
import { personOfMailedLink, requestSignInMail, sendsSignInLinks } from '#people/sign-in'
import { clientAddress } from '../../http/client-address.ts'
import { requireOwnPage } from '../../http/own-page.ts'
import { created, ok, type Reply, type Route, route } from '../../http/route.ts'
import type { Services } from '../../services.ts'

const tag = 'Sign-in'

/** Attempts to sign in for each client's address. */
const signInsPerMinute = 30

export const callerSchema = z
  .object({
    id: z.string().describe('`key:…`, `person:…` or `user:…`, as in audit records.'),
    name: z.string().nullable().describe('The name of the API key, the person or the user.'),
    platform: z.boolean().describe('Whether the caller is a platform administrator, with all scopes everywhere.'),
    sessionId: uuid().nullable().describe('The sign-in session; null for callers with their own credentials.'),
    organizations: z.array(z.object({ id: uuid(), scopes: z.array(z.enum(scopes)) })),
  })
  .meta({ id: 'Caller' })

export const signInLinkSchema = z.object({ url: z.url(), expiresAt: instantOut() }).meta({ id: 'SignInLink' })

export const callerOf = ({ id, name, platform, sessionId, grants }: Principal) => ({
  id,
  name: name ?? null,
  platform,
  sessionId: sessionId ?? null,
  organizations: [...grants].map(([organizationId, held]) => ({ id: organizationId, scopes: [...held] })),
})

export const tooMany = {
  429: { description: 'Too many sign-ins of this address. Wait for the time in `Retry-After`.' },
}

export const signInRoutes: Route[] = [
  route({
    method: 'post',
    path: '/auth/sign-in-links',
    summary: 'Create a sign-in link',
    description:
      'One person can sign in to the web page with the link, once and within ten minutes. The session has the scopes of the API key that creates the link.',
    tag,
    access: 'principal',
    idempotent: 'secret',
    answers: {
      201: { description: 'The link.', schema: signInLinkSchema },
      403: {
        description:
          '`api_key_required`: only an API key can create a link. Sessions and access tokens, also those of an identity provider, cannot.',
      },
    },
    handle: async ({ ctx, services }) => {
      const { token, expiresAt } = await createSignInLink(ctx)
      return created({ url: pageAddress(services.publicBaseUrl, `sign-in?link=${token}`), expiresAt })
    },
  }),
  route({
    method: 'post',
    path: '/auth/session',
    summary: 'Sign in with a link',
    description: 'Uses the link up and sets the session cookie. For the web page; integrations use API keys.',
    tag,
    access: 'public',
    body: z.strictObject({ link: z.string().max(200).describe('The token of the link.') }),
    bodyLimitBytes: 4 * 1024,
    answers: {
      201: { description: 'The caller of the session.', schema: callerSchema, headers: ['Set-Cookie'] },
      401: { description: '`link_invalid`: the link is unknown, used or expired.' },
      403: { description: '`forged_request`: the request does not come from the web page.' },
      ...tooMany,
    },
    example: { body: { link: 'fll_4f1c0de27a11c3e9_…' } },
    handle: async ({ services, body, http, ctx }) => {
      requireOwnPage(http)
      await countSignIn(services, http)
      const found = await takeLink(ctx, body.link)
      if (!found)
        throw new ServiceError(401, 'link_invalid', 'The sign-in link was used, has expired or is incomplete.', {
          headers: { 'WWW-Authenticate': 'Bearer realm="routerfleet"' },
        })
      return signedIn({ services, http, requestId: ctx.requestId, ...found })
    },
  }),
  route({
    method: 'get',
    path: '/auth/session',
    summary: 'Get the sign-in session of this browser',
    description: 'For the web page: who is signed in with the session cookie, and how people can sign in.',
    tag,
    access: 'public',
    answers: {
      200: {
        description: 'The session and the ways to sign in.',
        schema: z
          .object({
            caller: callerSchema.nullable().describe('Null without a valid session.'),
            provider: z
              .object({
                name: z.string(),
                signsOut: z.boolean().describe('Whether its users sign out at `/auth/oidc/sign-out` as well.'),
              })
              .nullable()
              .describe('The identity provider; null without one.'),
            sendsLinks: z.boolean().describe('Whether people can get a sign-in link by e-mail.'),
          })
          .meta({ id: 'SignInState' }),
      },
      ...tooMany,
    },
    handle: async ({ services, http }) => {
      const caller = await callerOfSession(services, http)
      const { name, signsOut } = services.signInProvider ?? {}
      const provider = name === undefined ? null : { name, signsOut }
      return ok({ caller: caller ? callerOf(caller) : null, provider, sendsLinks: await services.sendsLinks() })
    },
  }),
  route({
    method: 'post',
    path: '/auth/sign-in-mails',
    operationId: 'sendSignInMail',
    summary: 'Send a sign-in link by e-mail',
    description:
      'For people who joined an organization. The message follows within seconds, at most once a minute and five times an hour. The answer is the same for an address that belongs to nobody.',
    tag,
    access: 'public',
    body: z.strictObject({ email: z.email().max(254) }),
    bodyLimitBytes: 4 * 1024,
    answers: {
      202: {
        description: 'The address. If it belongs to a person, a message follows.',
        schema: z.object({ email: z.string() }).meta({ id: 'SentSignInMail' }),
      },
      409: { description: '`mail_server_missing`: no mail server is set up.' },
      ...tooMany,
    },
    example: { body: { email: 'ada@example.com' } },
    handle: async ({ services, body, http }) => {
      await countSignIn(services, http)
      if (!(await sendsSignInLinks(services.pool)))
        throw conflict('mail_server_missing', 'No mail server is set up. Ask an administrator for a sign-in link.')
      await requestSignInMail(services.pool, { email: body.email, pageUrl: services.publicBaseUrl })
      return { status: 202, body: { email: body.email } }
    },
  }),
  route({
    method: 'delete',
    path: '/auth/session',
    summary: 'Sign out',
    description: 'Ends the sign-in session of this browser and removes its cookie.',
    tag,
    access: 'public',
    answers: {
      204: { description: 'The session has ended.', headers: ['Set-Cookie'] },
      403: { description: '`forged_request`: the request does not come from the web page.' },
      ...tooMany,
    },
    handle: async ({ ctx, services, http }) => {
      requireOwnPage(http)
      const principal = await callerOfSession(services, http)
      if (principal?.sessionId) await endSession({ ...ctx, principal }, { sessionId: principal.sessionId })
      return { status: 204, headers: { 'Set-Cookie': services.sessionCookie.clear() } }
    },
  }),
]

/** Throws 429 when the client's address tries to sign in too often. */
export const countSignIn = ({ signInLimiter, trustedProxyHops }: Services, http: Context): Promise<unknown> =>
  signInLimiter.consume(clientAddress(http, trustedProxyHops), signInsPerMinute)

/** Uses a link up, and returns who signs in with it. Undefined if the link cannot be used. */
async function takeLink({ pool, plans }: FleetContext, token: string) {
  const source = { db: pool, plans }
  const linked = await takeSignInLink(pool, token)
  if (!linked) return undefined
  if ('keyId' in linked) {
    const key = (await findKeysById(source, [linked.keyId])).get(linked.keyId)
    return key && { who: linked, principal: key.principal }
  }
  const personId = 'personId' in linked ? linked.personId : await personOfMailedLink(pool, linked.email)
  const principal = personId && (await personPrincipal(source, personId))
  return principal ? { who: { personId }, principal } : undefined
}

/** Starts a session. Returns the caller and its cookie. */
export async function signedIn(opening: Opening): Promise<Reply> {
  const { id, cookie } = await openSession(opening)
  return created(callerOf({ ...opening.principal, sessionId: id }), { 'Set-Cookie': cookie })
}

type Opening = {
  services: Services
  http: Context
  who: SignedIn
  principal: Principal
  requestId: string
}

/** Starts a session, which replaces that of the browser's present cookie. `cookie` is a `Set-Cookie` header. */
export async function openSession({ services, http, who, principal, requestId }: Opening) {
  const { pool, sessionCookie, sessionLifetimeMs } = services
  const { id, token } = await startSession(pool, {
    who,
    principal,
    userAgent: http.req.header('user-agent'),
    lifetimeMs: sessionLifetimeMs,
    replaces: sessionCookie.read(http),
    requestId,
  })
  return { id, cookie: sessionCookie.set(token, sessionLifetimeMs / 1_000) }
}

async function callerOfSession(services: Services, http: Context): Promise<Principal | undefined> {
  const token = services.sessionCookie.read(http)
  if (token === undefined) return undefined
  try {
    return await services.authenticator.authenticateSession(token, clientAddress(http, services.trustedProxyHops))
  } catch (error) {
    if (error instanceof ServiceError && error.status === 401) return undefined
    throw error
  }
}
