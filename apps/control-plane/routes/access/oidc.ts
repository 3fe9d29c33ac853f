import type { Context } from 'hono'
import { z } from 'zod'
import { confirmPerson } from '#alerts/addresses/people'
import { errorText } from '#core/error-text'
import { notFound } from '#core/errors'
import { pageAddress } from '#core/page-address'
import { confirmedPersonWith, rolesOfPerson } from '#fleet/access/person-principal'
import { ProviderUnavailableError } from '#fleet/access/provider-fetch'
import { mergeGrants, userId, userPrincipal } from '#fleet/access/user-principal'
import { type Route, route } from '../../http/route.ts'
import type { Services } from '../../services.ts'
import { displayName, grantedAccess } from '../../sign-in/granted-access.ts'
import { countSignIn, openSession, tooMany } from './sign-in.ts'

const tag = 'Sign-in'
const redirect = { description: 'A redirect.', headers: ['Location', 'Set-Cookie'] }

/** A view of the page. Anything else would let a link to this service lead to another site. */
const returnToSchema = z
  .string()
  .max(1_000)
  .regex(/^#\/[\x21-\x7e]*$/)
  .catch('#/map')

/** Why a sign-in failed, as the page explains it. */
type Problem = 'expired' | 'refused' | 'no_access' | 'unavailable'

export const oidcRoutes: Route[] = [
  route({
    method: 'get',
    path: '/auth/oidc/start',
    operationId: 'startOidcSignIn',
    summary: 'Sign in at the identity provider',
    description: 'Redirects the browser to the OpenID provider (authorization code with PKCE). For the web page.',
    tag,
    access: 'public',
    query: z.object({ returnTo: returnToSchema.describe('The view of the page to return to, such as `#/devices`.') }),
    answers: {
      302: redirect,
      404: { description: 'No identity provider is configured.' },
      ...tooMany,
    },
    handle: async ({ services, ctx, query, http }) => {
      const provider = requireProvider(services)
      await countSignIn(services, http)
      try {
        const { address, attempt } = await provider.begin(query.returnTo)
        return redirectTo(address.href, await services.signInAttempts.remember(attempt, ctx.clock()))
      } catch (error) {
        return failed(services, http, error)
      }
    },
  }),
  route({
    method: 'get',
    path: '/auth/oidc/callback',
    operationId: 'finishOidcSignIn',
    summary: 'Finish a sign-in at the identity provider',
    description: 'The redirect URI to register at the provider. Sets the session cookie and redirects to the web page.',
    tag,
    access: 'public',
    query: z.looseObject({}),
    answers: {
      302: redirect,
      404: { description: 'No identity provider is configured.' },
      ...tooMany,
    },
    handle: async ({ services, ctx, http }) => {
      const provider = requireProvider(services)
      await countSignIn(services, http)
      const forget = services.signInAttempts.forget()
      const attempt = await services.signInAttempts.read(http, ctx.clock())
      if (!attempt) return withProblem(services, 'expired', forget)
      try {
        const { claims, tokens } = await provider.finish(new URL(http.req.url).search, attempt)
        const id = userId(claims.iss, claims.sub)
        const user = { id, name: displayName(claims), ...grantedAccess(claims, services.claimNames) }
        const email = verifiedEmail(claims)
        const personId = email && (await confirmedPersonWith(ctx.pool, email))
        const grants = mergeGrants(user.grants, await rolesOfPerson(ctx.pool, personId ?? null))
        const principal = await userPrincipal({ db: ctx.pool, plans: ctx.plans }, { ...user, grants })
        if (!principal.platform && principal.grants.size === 0) return withProblem(services, 'no_access', forget)
        if (email) await confirmPerson(ctx.pool, { organizationIds: [...principal.grants.keys()], email })
        const who = { ...user, tokens: await services.tokenSeal.seal(tokens), personId }
        const { cookie } = await openSession({ services, http, who, principal, requestId: ctx.requestId })
        return redirectTo(pageAddress(services.publicBaseUrl, attempt.returnTo.slice('#/'.length)), cookie, forget)
      } catch (error) {
        return failed(services, http, error)
      }
    },
  }),
  route({
    method: 'get',
    path: '/auth/oidc/sign-out',
    operationId: 'startOidcSignOut',
    summary: 'Sign out at the identity provider',
    description:
      'Redirects the browser to the OpenID provider (RP-initiated logout), which returns it to the web page. For the web page, after it ended its own session.',
    tag,
    access: 'public',
    answers: {
      302: { description: 'A redirect; to the web page if the provider has no sign-out.', headers: ['Location'] },
      404: { description: 'No identity provider is configured.' },
      ...tooMany,
    },
    handle: async ({ services, http }) => {
      const provider = requireProvider(services)
      await countSignIn(services, http)
      // Without the provider, the person is still signed out here.
      const address = await provider.signOutAddress().catch(() => undefined)
      return redirectTo(address?.href ?? pageAddress(services.publicBaseUrl, 'map'))
    },
  }),
]

/** The address of the user, if the provider states that it is the user's. */
const verifiedEmail = ({ email, email_verified }: Record<string, unknown>): string | undefined =>
  typeof email === 'string' && email_verified === true ? email : undefined

function requireProvider({ signInProvider }: Services) {
  if (!signInProvider) throw notFound('path')
  return signInProvider
}

/** Logs why the provider's answer was not accepted, without the answer, and tells the person what to do. */
function failed(services: Services, http: Context, error: unknown): Response {
  const reason = errorText(error)
  services.logger.warn({ requestId: http.get('requestId'), reason }, 'sign_in_failed')
  const problem = error instanceof ProviderUnavailableError ? 'unavailable' : 'refused'
  return withProblem(services, problem, services.signInAttempts.forget())
}

const withProblem = (services: Services, problem: Problem, ...cookies: string[]): Response =>
  redirectTo(pageAddress(services.publicBaseUrl, `sign-in?problem=${problem}`), ...cookies)

function redirectTo(address: string, ...cookies: string[]): Response {
  const headers = new Headers({ Location: address, 'Cache-Control': 'no-store' })
  for (const cookie of cookies) headers.append('Set-Cookie', cookie)
  return new Response(null, { status: 302, headers })
}
