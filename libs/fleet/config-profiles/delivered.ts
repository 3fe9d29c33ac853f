import { settingsDigest, withoutSecrets } from '#core/settings-digest'
import { namesSecret } from '#fleet/config-profiles/secret-names'
import { loadSettings } from '#fleet/config-profiles/secrets'
import {
  isObject,
  type Json,
  listSecrets,
  revealSecrets,
  type SettingsObject,
} from '#fleet/config-profiles/settings-tree'
import { openVariables, type StoredVariables } from '#fleet/config-profiles/variables/snapshot'
import { renderSettings } from '#fleet/config-profiles/variables/template'
import type { Keyring } from '#fleet/crypto/keyring'
import type { Queryable } from '#postgres/pool'

/** A version of a profile with the values that were stored for a device; null for settings without variables. */
export type PinnedVersion = {
  organizationId: string
  profileId: string
  version: number
  variables: StoredVariables | null
}

/** Settings as a device receives them. */
export type DeliveredSettings = {
  /** With all secrets in plain text. */
  settings: { [key: string]: Json }
  /** RFC 6901 pointers of the secrets. */
  secrets: string[]
  digest: string
}

/** The settings of a version for a device, with its values. Undefined when the version does not exist. */
export async function renderPinned(
  { pool, keyring }: { pool: Queryable; keyring: Keyring },
  { variables, ...version }: PinnedVersion,
): Promise<SettingsObject | undefined> {
  const settings = await loadSettings(pool, keyring, version)
  if (!settings || variables === null) return settings
  const values = await openVariables(pool, keyring, version.organizationId, variables)
  return renderSettings(settings, values).settings
}

/**
 * The settings of a version with all secrets in plain text, only for the device that applies them. Undefined when the version
 * does not exist.
 */
export async function revealSettings(
  source: { pool: Queryable; keyring: Keyring },
  version: PinnedVersion,
): Promise<DeliveredSettings | undefined> {
  const rendered = await renderPinned(source, version)
  return (
    rendered && {
      settings: revealSecrets(rendered),
      secrets: secretPointers(rendered),
      digest: settingsDigest(publicSettings(rendered)),
    }
  )
}

/** The settings as a device reports them: without secrets. */
export const publicSettings = (settings: SettingsObject): { [key: string]: Json } =>
  withoutSecrets(revealSecrets(settings), secretPointers(settings)) as { [key: string]: Json }

export const secretPointers = (settings: SettingsObject): string[] => listSecrets(settings).map(([pointer]) => pointer)

/** Leaves out what a device must not report: values at these pointers, and those whose key names a secret. */
export const withoutReportedSecrets = (
  settings: { [key: string]: Json },
  secrets: readonly string[],
): { [key: string]: Json } => withoutNamedSecrets(withoutSecrets(settings, secrets) as Json) as { [key: string]: Json }

function withoutNamedSecrets(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNamedSecrets)
  if (!isObject(value)) return value
  const shown = Object.entries(value).filter(([key]) => !namesSecret(key))
  return Object.fromEntries(shown.map(([key, inner]) => [key, withoutNamedSecrets(inner)]))
}
