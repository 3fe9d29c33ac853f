import {
  type Json,
  listSecrets,
  redactSettings,
  restoreSecrets,
  type SettingsObject,
  SettingsSecret,
} from '#fleet/config-profiles/settings-tree'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import type { Keyring } from '#fleet/crypto/keyring'
import type { Queryable } from '#postgres/pool'

/** Settings as stored: redacted JSON, and the encrypted secrets by JSON pointer. */
export type StoredSettings = {
  settings: { [key: string]: Json }
  secrets: { [pointer: string]: { sealed: string; updatedAt: string } }
}

/** To what the ciphertexts of settings are bound, besides their pointers. */
export type SettingsPlace = { organizationId: string; parts: readonly (string | number)[] }

/** Encrypts the secrets of settings. */
export async function sealTree(
  db: Queryable,
  keyring: Keyring,
  { organizationId, parts }: SettingsPlace,
  tree: SettingsObject,
): Promise<StoredSettings> {
  const settings = redactSettings(tree)
  const found = listSecrets(tree)
  if (found.length === 0) return { settings, secrets: {} }
  const key = await dataKeyOf(db, keyring, organizationId)
  const secrets = found.map(([pointer, secret]) => {
    const sealed = key.seal(secret.reveal(), [...parts, pointer]).toString('base64')
    return [pointer, { sealed, updatedAt: secret.updatedAt }] as const
  })
  return { settings, secrets: Object.fromEntries(secrets) }
}

/** Decrypts the secrets of stored settings. */
export async function openTree(
  db: Queryable,
  keyring: Keyring,
  { organizationId, parts }: SettingsPlace,
  stored: StoredSettings,
): Promise<SettingsObject> {
  const sealed = Object.entries(stored.secrets)
  if (sealed.length === 0) return stored.settings
  const key = await dataKeyOf(db, keyring, organizationId)
  const secrets = sealed.map(([pointer, secret]) => {
    const json = key.open(Buffer.from(secret.sealed, 'base64'), [...parts, pointer])
    return [pointer, new SettingsSecret(json, secret.updatedAt)] as const
  })
  return restoreSecrets(stored.settings, new Map(secrets))
}
