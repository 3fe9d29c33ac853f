import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Secret } from '#core/secret'

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

/**
 * A key that wraps the organizations' data keys. Its id is stored beside what it wrapped and says nothing about it.
 * `hashKey` keys hashes of what may be guessed, such as a request that holds a PIN.
 */
export type WrappingKey = { id: string; key: Buffer; hashKey: Buffer }

/** The installation's wrapping key, and the one before it while a rotation is under way. */
export type Keyring = { current: WrappingKey; previous: WrappingKey | undefined }

/** The keyring of the configured master secret, which may be any long random text; keys are derived by HKDF (RFC 5869). */
export const createKeyring = (master: Secret, previousMaster?: Secret): Keyring => ({
  current: deriveWrappingKey(master),
  previous: previousMaster && deriveWrappingKey(previousMaster),
})

function deriveWrappingKey(master: Secret): WrappingKey {
  const derive = (purpose: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', master.reveal(), '', `routerfleet ${purpose}`, bytes))
  return {
    id: derive('wrapping key id', 8).toString('hex'),
    key: derive('wrapping key', keyBytes),
    hashKey: derive('hash key', keyBytes),
  }
}
