import { settingsDigest } from '#core/settings-digest'
import { namesSecret } from '#fleet/config-profiles/secret-names'
import { loadSettings } from '#fleet/config-profiles/secrets'
import {
  isSettingsObject,
  type Json,
  listSecrets,
  pointerTo,
  revealSecrets,
  type SettingsObject,
  SettingsSecret,
  type SettingsTree,
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
      secrets: listSecrets(rendered).map(([pointer]) => pointer),
      digest: settingsDigest(withoutSecrets(rendered)),
    }
  )
}

/** Leaves out the members of objects that are secrets. In a list, null replaces a secret. */
export const withoutSecrets = (settings: SettingsObject): { [key: string]: Json } =>
  leaveOut(settings, (tree) => tree instanceof SettingsSecret) as { [key: string]: Json }

/** Leaves out what a device must not report: values at these pointers, and those whose key names a secret. */
export const withoutReportedSecrets = (
  settings: { [key: string]: Json },
  secrets: ReadonlySet<string>,
): { [key: string]: Json } =>
  leaveOut(settings, (_, pointer, key) => secrets.has(pointer) || (key !== undefined && namesSecret(key))) as {
    [key: string]: Json
  }

type IsSecret = (tree: SettingsTree, pointer: string, key?: string) => boolean

function leaveOut(tree: SettingsTree, isSecret: IsSecret, pointer = ''): SettingsTree {
  if (Array.isArray(tree)) {
    return tree.map((item, index) => {
      const place = pointerTo(pointer, index)
      return isSecret(item, place) ? null : leaveOut(item, isSecret, place)
    })
  }
  if (!isSettingsObject(tree)) return tree
  return Object.fromEntries(
    Object.entries(tree).flatMap(([key, value]) => {
      const place = pointerTo(pointer, key)
      return isSecret(value, place, key) ? [] : [[key, leaveOut(value, isSecret, place)]]
    }),
  )
}
