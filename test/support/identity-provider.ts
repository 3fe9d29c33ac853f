import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

/** A user of the provider: the claims that it states about the user. */
type User = Record<string, unknown>

export type TestIdentityProvider = {
  issuer: string
  /** The environment of a control plane whose people sign in here. */
  environment: Record<string, string>
  close(): void
}

const clientId = 'routerfleet'
const clientSecret = 'a client secret for tests'

const loginForm = `<!doctype html><html lang="en"><title>Example login</title>
<form method="post"><label>User name <input name="login" required></label><button>Continue</button></form>`

const logoutPage = `<!doctype html><html lang="en"><title>Sign out</title>
<button type="submit" form="op.logoutForm" name="logout" value="yes">Yes, sign me out</button>`

/**
 * Starts an OpenID provider with a page that asks for the name of one of the users. It requires PKCE and puts claims only into
 * the userinfo endpoint. `publicBaseUrl`: the address of the service whose callback it accepts. `refreshes`: it issues refresh
 * tokens, each of which works once. A user who is deleted from `users` is disabled.
 */
export async function startIdentityProvider(
  publicBaseUrl: string,
  users: Record<string, User>,
  { refreshes = false } = {},
): Promise<TestIdentityProvider> {
  let handle = (_request: IncomingMessage, response: ServerResponse): void => void response.writeHead(503).end()
  const server = createServer((request, response) => handle(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: ['authorization_code', ...(refreshes ? ['refresh_token'] : [])],
        redirect_uris: [`${publicBaseUrl}/auth/oidc/callback`],
        post_logout_redirect_uris: [`${publicBaseUrl}/`],
      },
    ],
    claims: { openid: ['sub'], profile: ['name', 'groups', 'orgs'], email: ['email', 'email_verified'] },
    findAccount: (_ctx, id) => (users[id] ? { accountId: id, claims: () => ({ sub: id, ...users[id] }) } : undefined),
    issueRefreshToken: async () => refreshes,
    rotateRefreshToken: true,
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        // The page of the library loads a font from another site.
        logoutSource: (ctx, form) => {
          ctx.body = `${logoutPage}${form}`
        },
      },
    },
    interactions: { url: (_ctx, { uid }) => `/login/${uid}` },
    // Users of a company's own provider are not asked for consent.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId ?? '',
        accountId: oidc.session?.accountId ?? '',
      })
      grant.addOIDCScope('openid profile email')
      await grant.save()
      return grant
    },
    pkce: { required: () => true },
    cookies: { keys: ['a cookie key for tests'] },
  })
  const callback = provider.callback()
  handle = (request, response) => {
    if (!request.url?.startsWith('/login/')) return void callback(request, response)
    if (request.method === 'GET') return void response.writeHead(200, { 'content-type': 'text/html' }).end(loginForm)
    void readForm(request).then((form) =>
      provider.interactionFinished(request, response, { login: { accountId: form.get('login') ?? '' } }),
    )
  }
  return {
    issuer,
    environment: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
      OIDC_SIGN_OUT: 'true',
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return new URLSearchParams(text)
}
