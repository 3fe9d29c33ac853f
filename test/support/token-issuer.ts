import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

type TokenIssuer = {
  /** The environment of a control plane that accepts these tokens. */
  environment: Record<string, string>
  /** Signs an access token of the subject `ann`, valid for 300 s unless the claims say otherwise. */
  sign(claims: JWTPayload, header?: { typ?: string; kid?: string }): Promise<string>
  close(): void
}

/** Starts an identity provider that only signs access tokens and publishes its keys. */
export async function startTokenIssuer(): Promise<TokenIssuer> {
  const [issuer, audience] = ['https://login.example.test', 'https://api.example.test']
  const keys = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256' }
  const server = createServer((_request, response) => response.end(JSON.stringify({ keys: [jwk] })))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    environment: {
      OIDC_ISSUER: issuer,
      OIDC_AUDIENCE: audience,
      OIDC_JWKS_URL: `http://127.0.0.1:${port}/jwks`,
    },
    sign: (claims, header = {}) =>
      new SignJWT({ iss: issuer, aud: audience, sub: 'ann', exp: Math.floor(Date.now() / 1000) + 300, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'one', typ: 'at+jwt', ...header })
        .sign(keys.privateKey),
    close: () => void server.close(),
  }
}
