import * as oidc from 'openid-client'
import type { Clock } from '#core/clock'
import type { Secret } from '#core/secret'
import { ProviderUnavailableError } from '#fleet/access/provider-fetch'
import type { SignInAttempt } from './attempts.ts'
import type { ProviderTokens } from './token-seal.ts'

/** The provider no longer admits the user, or cannot tell any more. */
export class AccessRefusedError extends Error {
  override readonly name = 'AccessRefusedError'
}

/** Sign-in at an OpenID provider with an authorization code and PKCE. */
export type SignInProvider = {
  /** What the button on the page says. */
  name: string
  /** Returns the address of the provider at which the sign-in continues, and what is needed to finish it. */
  begin(returnTo: string): Promise<{ address: URL; attempt: SignInAttempt }>
  /**
   * Exchanges the code in the query of the callback for the user's claims and tokens. Throws for an invalid answer, and
   * `ProviderUnavailableError` if the provider does not respond.
   */
  finish(query: string, attempt: SignInAttempt): Promise<{ claims: Claims; tokens: ProviderTokens }>
  /**
   * Asks again about a user: first for new tokens, then for the claims. Throws `AccessRefusedError` if the provider no longer
   * admits the user or the tokens are no longer sufficient, and another error if it does not respond as it should.
   */
  renew(tokens: ProviderTokens): Promise<{ tokens: ProviderTokens; claims: () => Promise<Record<string, unknown>> }>
  /** Whether a person who signs out of the page also signs out at the provider. */
  signsOut: boolean
  /** Returns the address at which the provider signs the person out; undefined if it has none. */
  signOutAddress(): Promise<URL | undefined>
}

/** The claims of the ID token, completed with those of the userinfo endpoint. */
type Claims = Record<string, unknown> & { iss: string; sub: string }

type ProviderSettings = {
  issuer: string
  clientId: string
  /** Undefined for a public client. */
  clientSecret: Secret | undefined
  clientAuthentication: 'client_secret_basic' | 'client_secret_post'
  scope: string
  name: string
  /** The address that the provider returns to. */
  redirectUri: string
  signsOut: boolean
  /** The address that the provider returns to after a sign-out. */
  signedOutUri: string
  /** The claims that may state roles. */
  roleClaims: readonly string[]
  clock: Clock
}

function clientAuthenticationOf({ clientSecret, clientAuthentication }: ProviderSettings): oidc.ClientAuth {
  if (!clientSecret) return oidc.None()
  const secret = clientSecret.reveal()
  return clientAuthentication === 'client_secret_post' ? oidc.ClientSecretPost(secret) : oidc.ClientSecretBasic(secret)
}

const timeoutS = 5
const pauseAfterFailureMs = 5_000

/** Creates a provider. Reads its metadata by discovery at the first use, and again after a failure, at most every 5 s. */
export function createSignInProvider(settings: ProviderSettings): SignInProvider {
  const { clientId, scope, redirectUri, signsOut, signedOutUri, clock } = settings
  const issuer = new URL(settings.issuer)
  let configuration: Promise<oidc.Configuration> | undefined
  let pausedUntilMs = 0

  const discover = () =>
    oidc.discovery(issuer, clientId, undefined, clientAuthenticationOf(settings), {
      timeout: timeoutS,
      // Signatures of ID tokens are verified although they arrive over TLS.
      execute: [oidc.enableNonRepudiationChecks, ...(issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : [])],
    })
  const configured = (): Promise<oidc.Configuration> => {
    if (clock() < pausedUntilMs) throw new ProviderUnavailableError('The identity provider did not respond.')
    configuration ??= discover().catch((cause: unknown) => {
      configuration = undefined
      pausedUntilMs = clock() + pauseAfterFailureMs
      throw new ProviderUnavailableError('The identity provider did not respond.', { cause })
    })
    return configuration
  }

  return {
    name: settings.name,
    async begin(returnTo) {
      const config = await configured()
      const attempt = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        codeVerifier: oidc.randomPKCECodeVerifier(),
        returnTo,
      }
      const address = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope,
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(attempt.codeVerifier),
        code_challenge_method: 'S256',
      })
      return { address, attempt }
    },
    async finish(query, { state, nonce, codeVerifier }) {
      const config = await configured()
      const tokens = await oidc.authorizationCodeGrant(config, new URL(`${redirectUri}${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (!claims) throw new Error('The provider returned no ID token.')
      // Many providers put names and groups only there.
      const userinfo = await userinfoOf(config, tokens.access_token, claims.sub)
      const needsIdToken =
        !hasUserinfo(config) || settings.roleClaims.some((name) => name in claims && !(name in userinfo))
      return {
        claims: { ...userinfo, ...claims },
        tokens: {
          subject: claims.sub,
          accessToken: tokens.access_token,
          refreshToken: tokens.refresh_token,
          needsIdToken,
        },
      }
    },
    renew: async (tokens) => renew(await configured(), tokens),
    signsOut,
    async signOutAddress() {
      const config = await configured()
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined
      return oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: signedOutUri })
    },
  }
}

/** Renews the tokens of a session. Without a refresh token, the claims come from the provider's userinfo alone. */
async function renew(config: oidc.Configuration, tokens: ProviderTokens): ReturnType<SignInProvider['renew']> {
  const { subject, refreshToken, needsIdToken } = tokens
  if (refreshToken === undefined) {
    if (needsIdToken) throw new AccessRefusedError('The identity provider issued no refresh token.')
    return { tokens, claims: () => userinfoOf(config, tokens.accessToken, subject).catch(refuseIfDenied) }
  }
  const renewed = await oidc.refreshTokenGrant(config, refreshToken).catch(refuseIfDenied)
  const idClaims = renewed.claims()
  if (idClaims && idClaims.sub !== subject) throw new AccessRefusedError('The refresh token is of another user.')
  if (!idClaims && needsIdToken) throw new AccessRefusedError('The identity provider issued no new ID token.')
  return {
    tokens: {
      ...tokens,
      accessToken: renewed.access_token,
      refreshToken: renewed.refresh_token ?? refreshToken,
    },
    claims: async () => ({
      ...(await userinfoOf(config, renewed.access_token, subject).catch(refuseIfDenied)),
      ...idClaims,
    }),
  }
}

const hasUserinfo = (config: oidc.Configuration): boolean => config.serverMetadata().userinfo_endpoint !== undefined

const userinfoOf = async (
  config: oidc.Configuration,
  accessToken: string,
  subject: string,
): Promise<Record<string, unknown>> => (hasUserinfo(config) ? oidc.fetchUserInfo(config, accessToken, subject) : {})

/** Rethrows an answer that denies the user's tokens as `AccessRefusedError`, and every other failure unchanged. */
function refuseIfDenied(error: unknown): never {
  if (error instanceof oidc.ResponseBodyError && error.error === 'invalid_grant')
    throw new AccessRefusedError('The identity provider refused the refresh token.')
  const isChallenge = error instanceof oidc.WWWAuthenticateChallengeError && error.status === 401
  // Some providers leave out the challenge.
  const isUnauthorized = error instanceof Error && error.cause instanceof Response && error.cause.status === 401
  if (isChallenge || isUnauthorized) throw new AccessRefusedError('The identity provider refused the access token.')
  throw error
}
