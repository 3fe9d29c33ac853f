import { createECDH, hkdfSync } from 'node:crypto'
import { calculateJwkThumbprint, importJWK, type JWK, jwtVerify, SignJWT } from 'jose'
import { newId } from '#core/ids'
import type { Secret } from '#core/secret'

export const accessTokenLifetimeSeconds = 900

/** Issues and verifies the access tokens of this service: ES256, `typ: at+jwt` (RFC 9068), bound to an API key. */
export type AccessTokens = {
  issuer: string
  issue(keyId: string, nowMs: number): Promise<string>
  /** Returns the id of the API key and the expiry of the token. Throws a jose error when the token is invalid. */
  verify(token: string, nowMs: number): Promise<{ keyId: string; expiresAtMs: number }>
  /** The body of `/.well-known/jwks.json`. */
  jwks: { keys: JWK[] }
}

const subgroupOrder = BigInt('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551')

/**
 * Derives the signing key from the master secret, so that every replica has the same key without shared state. A new master
 * secret changes the key. 48 bytes reduced modulo the order keep the bias negligible (FIPS 186-5 A.2.1).
 */
function deriveSigningJwk(master: Secret): { d: string; x: string; y: string } {
  const wide = Buffer.from(hkdfSync('sha256', master.reveal(), '', 'routerfleet access token signing key', 48))
  const scalar = (BigInt(`0x${wide.toString('hex')}`) % (subgroupOrder - 1n)) + 1n
  const privateBytes = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex')
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(privateBytes)
  const point = curve.getPublicKey()
  return {
    d: privateBytes.toString('base64url'),
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  }
}

/** `issuer` is the public base address. It is also the audience, because only this service accepts these tokens. */
export async function createAccessTokens(master: Secret, issuer: string): Promise<AccessTokens> {
  const { d, x, y } = deriveSigningJwk(master)
  const publicJwk = { kty: 'EC', crv: 'P-256', x, y }
  const kid = await calculateJwkThumbprint(publicJwk)
  const privateKey = await importJWK({ ...publicJwk, d }, 'ES256')
  const publicKey = await importJWK(publicJwk, 'ES256')
  return {
    issuer,
    jwks: { keys: [{ ...publicJwk, kid, alg: 'ES256', use: 'sig' }] },
    issue: (keyId, nowMs) =>
      new SignJWT({ client_id: keyId })
        .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
        .setIssuer(issuer)
        .setAudience(issuer)
        .setSubject(`key:${keyId}`)
        .setJti(newId())
        .setIssuedAt(Math.floor(nowMs / 1000))
        .setExpirationTime(Math.floor(nowMs / 1000) + accessTokenLifetimeSeconds)
        .sign(privateKey),
    async verify(token, nowMs) {
      const { payload } = await jwtVerify<{ client_id: string }>(token, publicKey, {
        issuer,
        audience: issuer,
        algorithms: ['ES256'],
        typ: 'at+jwt',
        requiredClaims: ['sub', 'exp', 'client_id'],
        currentDate: new Date(nowMs),
      })
      return { keyId: payload.client_id, expiresAtMs: (payload.exp ?? 0) * 1000 }
    },
  }
}
