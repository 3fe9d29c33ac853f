import { hkdfSync } from 'node:crypto'
import type { Context } from 'hono'
import { generateCookie, getCookie } from 'hono/cookie'
import { EncryptJWT, jwtDecrypt } from 'jose'
import { z } from 'zod'
import type { Secret } from '#core/secret'

const attemptSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  /** The view to return to: the part of the address after `#`. */
  returnTo: z.string(),
})

/** A sign-in that began in this browser and continues at the identity provider. */
export type SignInAttempt = z.infer<typeof attemptSchema>

/** Keeps attempts in an encrypted cookie, so that only the browser that began a sign-in can finish it. */
export type SignInAttempts = {
  /** The value of a `Set-Cookie` header. */
  remember(attempt: SignInAttempt, nowMs: number): Promise<string>
  /** The attempt of this browser; undefined if there is none or it has expired. */
  read(c: Context, nowMs: number): Promise<SignInAttempt | undefined>
  forget(): string
}

const lifetimeS = 600
const name = 'routerfleet-sign-in'
const algorithms = { alg: 'dir', enc: 'A256GCM' } as const

export function createSignInAttempts(master: Secret, publicBaseUrl: string): SignInAttempts {
  const key = new Uint8Array(hkdfSync('sha256', master.reveal(), '', 'routerfleet sign-in attempts', 32))
  const { protocol, pathname } = new URL(publicBaseUrl)
  const cookie = (value: string, maxAge: number) =>
    generateCookie(name, value, {
      path: `${pathname.replace(/\/$/, '')}/auth/oidc`,
      secure: protocol === 'https:',
      httpOnly: true,
      // Lax, because the provider's site causes the request that finishes the sign-in.
      sameSite: 'Lax',
      maxAge,
    })
  return {
    async remember(attempt, nowMs) {
      const sealed = await new EncryptJWT(attempt)
        .setProtectedHeader(algorithms)
        .setExpirationTime(Math.floor(nowMs / 1_000) + lifetimeS)
        .encrypt(key)
      return cookie(sealed, lifetimeS)
    },
    async read(c, nowMs) {
      const sealed = getCookie(c, name)
      if (sealed === undefined) return undefined
      try {
        const { payload } = await jwtDecrypt(sealed, key, {
          currentDate: new Date(nowMs),
          keyManagementAlgorithms: [algorithms.alg],
          contentEncryptionAlgorithms: [algorithms.enc],
          requiredClaims: ['exp'],
        })
        return attemptSchema.parse(payload)
      } catch {
        return undefined
      }
    },
    forget: () => cookie('', 0),
  }
}
