import { hkdfSync } from 'node:crypto'
import { EncryptJWT, jwtDecrypt } from 'jose'
import { z } from 'zod'
import type { Secret } from '#core/secret'

const tokensSchema = z.object({
  subject: z.string(),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** The userinfo endpoint does not state the roles, so that a check needs a new ID token. */
  needsIdToken: z.boolean(),
})

/** The tokens with which the provider tells about a user after the sign-in. */
export type ProviderTokens = z.infer<typeof tokensSchema>

/** Encrypts tokens for the database. */
export type TokenSeal = {
  seal(tokens: ProviderTokens): Promise<string>
  /** Undefined if the tokens were encrypted with a master secret that is no longer known. */
  open(sealed: string): Promise<ProviderTokens | undefined>
}

const algorithms = { alg: 'dir', enc: 'A256GCM' } as const

/** `previous`: the master secret before a rotation, with which tokens may still be encrypted. */
export function createTokenSeal(master: Secret, previous: Secret | undefined): TokenSeal {
  const keyOf = (secret: Secret) =>
    new Uint8Array(hkdfSync('sha256', secret.reveal(), '', 'routerfleet tokens of the identity provider', 32))
  const key = keyOf(master)
  const keys = [key, ...(previous ? [keyOf(previous)] : [])]
  const openWith = async (one: Uint8Array, sealed: string) => {
    const { payload } = await jwtDecrypt(sealed, one, {
      keyManagementAlgorithms: [algorithms.alg],
      contentEncryptionAlgorithms: [algorithms.enc],
    })
    return tokensSchema.parse(payload)
  }
  return {
    seal: (tokens) => new EncryptJWT(tokens).setProtectedHeader(algorithms).encrypt(key),
    open: (sealed) => Promise.any(keys.map((one) => openWith(one, sealed))).catch(() => undefined),
  }
}
