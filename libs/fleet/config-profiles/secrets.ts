import {
  type Json,
  listSecrets,
  redactSettings,
  restoreSecrets,
  revealSecrets,
  type SettingsObject,
  SettingsSecret,
} from '#fleet/config-profiles/settings-tree'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import type { Keyring } from '#fleet/crypto/keyring'
import type { Queryable } from '#postgres/pool'

/** A version of a profile. Every encrypted value is bound to it and to its path. */
type ProfileVersion = { organizationId: string; profileId: string; version: number }

/** Settings as stored: redacted JSON, and the encrypted secrets by JSON pointer. */
type StoredSettings = {
  settings: { [key: string]: Json }
  secrets: { [pointer: string]: { sealed: string; updatedAt: string } }
}

const placeOf = ({ profileId, version }: ProfileVersion, pointer: string) => ['profile', profileId, version, pointer]

/** Encrypts the secrets of the settings of one version. */
export async function sealSettings(
  connection: Queryable,
  keyring: Keyring,
  place: ProfileVersion,
  tree: SettingsObject,
): Promise<StoredSettings> {
  const settings = redactSettings(tree)
  const found = listSecrets(tree)
  if (found.length === 0) return { settings, secrets: {} }
  const key = await dataKeyOf(connection, keyring, place.organizationId)
  const secrets = found.map(([pointer, secret]) => {
    const sealed = key.seal(secret.reveal(), placeOf(place, pointer)).toString('base64')
    return [pointer, { sealed, updatedAt: secret.updatedAt }] as const
  })
  return { settings, secrets: Object.fromEntries(secrets) }
}

/** Reads the settings of one version and decrypts their secrets. Returns undefined when the version does not exist. */
export async function loadSettings(
  db: Queryable,
  keyring: Keyring,
  place: ProfileVersion,
): Promise<SettingsObject | undefined> {
  const { rows } = await db.query<StoredSettings>(
    `SELECT settings, secrets FROM config_profile_version
     WHERE organization_id = $1 AND profile_id = $2 AND version = $3`,
    [place.organizationId, place.profileId, place.version],
  )
  const stored = rows[0]
  if (!stored) return undefined
  const sealed = Object.entries(stored.secrets)
  if (sealed.length === 0) return stored.settings
  const key = await dataKeyOf(db, keyring, place.organizationId)
  const secrets = sealed.map(([pointer, secret]) => {
    const json = key.open(Buffer.from(secret.sealed, 'base64'), placeOf(place, pointer))
    return [pointer, new SettingsSecret(json, secret.updatedAt)] as const
  })
  return restoreSecrets(stored.settings, new Map(secrets))
}

/**
 * Reads the settings of one version with all secrets in plain text, only for the device that applies them. Returns undefined
 * when the version does not exist.
 */
export async function revealSettings(
  source: { pool: Queryable; keyring: Keyring },
  place: ProfileVersion,
): Promise<{ [key: string]: Json } | undefined> {
  const settings = await loadSettings(source.pool, source.keyring, place)
  return settings && revealSecrets(settings)
}
