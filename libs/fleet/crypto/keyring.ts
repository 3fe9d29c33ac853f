import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Secret } from '#core/secret'

const algorithm = 'aes-256-gcm'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** Encrypts with AES-256-GCM. Returns nonce ‖ ciphertext ‖ tag. `boundTo` is authenticated and required to decrypt. */
export function seal(key: Buffer, plain: Buffer, boundTo: readonly (string | number)[]): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAAD(placeOf(boundTo))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Decrypts the result of `seal`. Throws when the key or `boundTo` differs or a byte was changed. */
export function open(key: Buffer, sealed: Buffer, boundTo: readonly (string | number)[]): Buffer {
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(placeOf(boundTo)).setAuthTag(sealed.subarray(-tagBytes))
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()])
}

const placeOf = (boundTo: readonly (string | number)[]) => Buffer.from(JSON.stringify(boundTo))

/**
 * A key that wraps the data keys of organizations. Its id is stored with each wrapped key and reveals nothing about it.
 * `hashKey` is for keyed hashes of data that could be guessed, such as a request with a PIN.
 */
export type WrappingKey = { id: string; key: Buffer; hashKey: Buffer }

/** The wrapping key of the installation, and the previous one during a rotation. */
export type Keyring = { current: WrappingKey; previous: WrappingKey | undefined }

/** Derives the keyring from the master secret, which may be any long random text, by HKDF (RFC 5869). */
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
