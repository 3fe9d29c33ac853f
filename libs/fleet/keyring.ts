import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'

const algorithm = 'aes-256-gcm'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** Seals with AES-256-GCM as nonce ‖ ciphertext ‖ tag. `boundTo` is authenticated: the result opens at that place only. */
export function seal(key: Buffer, plain: Buffer, boundTo: readonly (string | number)[]): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(placeOf(boundTo))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Opens what `seal` made. Throws when the key is another one, a byte was changed, or it was moved to another place. */
export function open(key: Buffer, sealed: Buffer, boundTo: readonly (string | number)[]): Buffer {
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(placeOf(boundTo)).setAuthTag(sealed.subarray(-tagBytes))
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()])
}

const placeOf = (boundTo: readonly (string | number)[]) => Buffer.from(JSON.stringify(boundTo))

/** A key that wraps the organizations' data keys. Its id is stored beside what it wrapped and says nothing about it. */
export type WrappingKey = { id: string; key: Buffer }

/** The installation's wrapping key, and the one before it while a rotation is under way. */
export type Keyring = { current: WrappingKey; previous: WrappingKey | undefined }

/** `CONFIG_SECRETS_KEY` and its predecessor as configuration: 32 random bytes as 64 hex digits or as base64. */
export const wrappingKeySchema = z
  .string()
  .refine((text) => decodeKey(text) !== undefined, 'must be 32 random bytes, as 64 hex digits or base64')
  .transform((text): WrappingKey => {
    const key = decodeKey(text) ?? Buffer.alloc(0)
    return { id: createHash('sha256').update('routerfleet wrapping key').update(key).digest('hex').slice(0, 16), key }
  })

function decodeKey(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  const bytes = Buffer.from(text, 'base64')
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) && bytes.length === keyBytes ? bytes : undefined
}
