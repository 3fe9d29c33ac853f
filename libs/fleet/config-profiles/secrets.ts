import { openTree, type SettingsPlace, type StoredSettings, sealTree } from '#fleet/config-profiles/sealed-settings'
import type { SettingsObject } from '#fleet/config-profiles/settings-tree'
import type { Keyring } from '#fleet/crypto/keyring'
import type { Queryable } from '#postgres/pool'

/** A version of a profile. Every encrypted value is bound to it and to its path. */
type ProfileVersion = { organizationId: string; profileId: string; version: number }

const placeOfVersion = ({ organizationId, profileId, version }: ProfileVersion): SettingsPlace => ({
  organizationId,
  parts: ['profile', profileId, version],
})

/** Encrypts the secrets of the settings of one version. */
export const sealSettings = (
  db: Queryable,
  keyring: Keyring,
  version: ProfileVersion,
  tree: SettingsObject,
): Promise<StoredSettings> => sealTree(db, keyring, placeOfVersion(version), tree)

/** Reads the settings of one version and decrypts their secrets. Returns undefined when the version does not exist. */
export async function loadSettings(
  db: Queryable,
  keyring: Keyring,
  version: ProfileVersion,
): Promise<SettingsObject | undefined> {
  const { rows } = await db.query<StoredSettings>(
    `SELECT settings, secrets FROM config_profile_version
     WHERE organization_id = $1 AND profile_id = $2 AND version = $3`,
    [version.organizationId, version.profileId, version.version],
  )
  return rows[0] && openTree(db, keyring, placeOfVersion(version), rows[0])
}
