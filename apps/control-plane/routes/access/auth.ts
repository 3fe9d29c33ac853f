import { z } from 'zod'
import { badRequest, ServiceError } from '#core/errors'
import { assembleToken, parseToken } from '#core/tokens'
import { accessTokenLifetimeSeconds } from '#fleet/access/access-tokens'
import { decodeText } from '#http/body'
import { clientAddress } from '../../http/client-address.ts'
import { type Route, route } from '../../http/route.ts'

const tag = 'Access'
const failedAuthenticationsPerMinute = 120

export const authRoutes: Route[] = [
  route({
    method: 'post',
    path: '/auth/token',
    operationId: 'createAccessToken',
    summary: 'Exchange an API key for a short-lived access token',
    description:
      'OAuth 2.0 client credentials grant. Send the key’s id and secret (or the whole key as the secret) with HTTP Basic or as form fields, at most 64 KiB.',
    tag,
    access: 'public',
    body: z.looseObject({
      grant_type: z.string().optional().describe('`client_credentials`'),
      client_id: z.string().optional(),
      client_secret: z.string().optional(),
      scope: z.string().optional().describe('Not supported: a token has the scopes of its key.'),
    }),
    bodyLimitBytes: 64 * 1024,
    bodyFormat: {
      mediaTypes: ['application/x-www-form-urlencoded'],
      decode: (bytes) => formOf(new URLSearchParams(decodeText(bytes))),
    },
    answers: {
      200: {
        description: 'A bearer token.',
        schema: z
          .object({ access_token: z.string(), token_type: z.literal('Bearer'), expires_in: z.int() })
          .meta({ id: 'AccessToken' }),
      },
      400: { description: '`error`: invalid_request, unsupported_grant_type or invalid_scope.' },
      401: { description: '`error`: invalid_client.' },
    },
    example: {
      body: {
        grant_type: 'client_credentials',
        client_id: '4f1c0de27a11c3e9',
        client_secret: 'flk_4f1c0de27a11c3e9_…',
      },
    },
    adaptError: (error) =>
      error.members?.error ? error : withOauthError(error, error.status === 401 ? 'invalid_client' : 'invalid_request'),
    handle: async ({ ctx, services, body, http }) => {
      if (!body.grant_type) throw oauthError(400, 'invalid_request', 'grant_type is required.')
      if (body.grant_type !== 'client_credentials') {
        throw oauthError(400, 'unsupported_grant_type', 'grant_type must be client_credentials.')
      }
      const token = presentedKey(http.req.header('authorization'), body)
      const address = clientAddress(http, services.trustedProxyHops)
      const found = token && (await services.keys.byToken(token, address))
      if (!found) {
        await services.failedAuthenticationLimiter.consume(address, failedAuthenticationsPerMinute)
        throw oauthError(401, 'invalid_client', 'The key is unknown, expired or revoked.')
      }
      if (body.scope)
        throw oauthError(400, 'invalid_scope', 'scope is not supported: a token has the scopes of its key.')
      const accessToken = await services.accessTokens.issue(found.id, ctx.clock())
      return {
        status: 200,
        body: { access_token: accessToken, token_type: 'Bearer', expires_in: accessTokenLifetimeSeconds },
        headers: { 'Cache-Control': 'no-store' },
      }
    },
  }),
  route({
    method: 'get',
    path: '/.well-known/jwks.json',
    operationId: 'getSigningKeys',
    summary: 'Get the public keys that sign access tokens',
    tag,
    access: 'public',
    answers: {
      200: {
        description: 'A JSON Web Key Set.',
        schema: z.object({ keys: z.array(z.looseObject({ kty: z.string() })) }).meta({ id: 'SigningKeys' }),
      },
    },
    handle: async ({ services }) => ({
      status: 200,
      body: services.accessTokens.jwks,
      headers: { 'Cache-Control': 'public, max-age=300' },
    }),
  }),
]

/** The fields of a form. Throws 400 if one is sent twice (RFC 6749, 3.2). */
function formOf(fields: URLSearchParams): Record<string, string> {
  const twice = [...fields.keys()].find((name) => fields.getAll(name).length > 1)
  if (twice !== undefined) throw badRequest(`${twice} must be sent only once.`)
  return Object.fromEntries(fields)
}

/** The API key from HTTP Basic (RFC 6749 2.3.1: id and secret are form-encoded) or from form fields. */
function presentedKey(
  authorization: string | undefined,
  form: { client_id?: string | undefined; client_secret?: string | undefined },
): string | undefined {
  const basic = /^Basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization ?? '')?.[1]
  if (authorization !== undefined && basic === undefined) return undefined
  const [id, secret] = basic === undefined ? [form.client_id, form.client_secret] : basicPair(basic)
  if (!id || !secret) return undefined
  const whole = secret.startsWith('flk_') ? secret : assembleToken('flk', id, secret)
  const parsed = parseToken(whole)
  return parsed?.prefix === 'flk' && (parsed.id === id || id === whole) ? whole : undefined
}

function basicPair(encoded: string): [string | undefined, string | undefined] {
  const [id, ...rest] = Buffer.from(encoded, 'base64').toString().split(':')
  const decode = (part: string | undefined) =>
    part === undefined ? undefined : new URLSearchParams(`v=${part}`).get('v')
  return [decode(id) ?? undefined, decode(rest.join(':')) ?? undefined]
}

function oauthError(status: 400 | 401, error: string, detail: string): ServiceError {
  const headers = status === 401 ? { 'WWW-Authenticate': 'Basic realm="routerfleet", charset="UTF-8"' } : {}
  return new ServiceError(status, error, detail, {
    members: { error },
    headers: { ...headers, 'Cache-Control': 'no-store' },
  })
}

const withOauthError = (error: ServiceError, word: string): ServiceError =>
  new ServiceError(error.status, error.code, error.message, {
    ...(error.errors ? { errors: error.errors } : {}),
    ...(error.headers ? { headers: error.headers } : {}),
    members: { ...error.members, error: word },
  })
