import { settingsDigest } from '#core/settings-digest'
import { findAppliedProfile } from '#fleet/config-profiles/applied'
import { type ConfigState, configStateSql } from '#fleet/config-profiles/config-state'
import { publicSettings, renderPinned, secretPointers, withoutReportedSecrets } from '#fleet/config-profiles/delivered'
import type { Json } from '#fleet/config-profiles/settings-tree'
import type { SystemContext } from '#fleet/context'
import type { Keyring } from '#fleet/crypto/keyring'
import { systemTransaction } from '#fleet/tenant'
import { queryEntities, queryEntity } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

type OwnedDevice = { organizationId: string; deviceId: string }

/** What a device says to run. */
export type ReportedConfig = {
  profileId: string
  version: number
  digest: string
  settings?: { [key: string]: Json } | undefined
}

/**
 * Stores what a device runs, without secrets, and whether it is what was applied to it. Returns its state. A repeated report has no
 * effect.
 */
export async function reportConfig(
  system: SystemContext & { keyring: Keyring },
  device: OwnedDevice,
  report: ReportedConfig,
): Promise<{ state: ConfigState }> {
  return systemTransaction(system, async (connection) => {
    const judged = await judge(system.keyring, connection, device, report)
    await storeReport(connection, device, { ...report, ...judged })
    return queryEntity<{ state: ConfigState }>(
      connection,
      `SELECT ${configStateSql} AS state FROM device d WHERE d.organization_id = $organizationId AND d.id = $deviceId`,
      { organizationId: device.organizationId, deviceId: device.deviceId },
    )
  })
}

type Judged = { matches: boolean | null; settings: { [key: string]: Json } | null }

/**
 * Compares a report with what was applied, and locks the device, so that no profile is applied meanwhile. Null: the version that was
 * applied does not exist any more.
 */
async function judge(
  keyring: Keyring,
  connection: Connection,
  device: OwnedDevice,
  { profileId, version, digest, settings }: ReportedConfig,
): Promise<Judged> {
  const key = [device.organizationId, device.deviceId]
  await connection.query('SELECT FROM device WHERE organization_id = $1 AND id = $2 FOR SHARE', key)
  const applied = await findAppliedProfile(connection, device)
  const rendered = applied && (await renderPinned({ pool: connection, keyring }, applied))
  const isSame = applied?.profileId === profileId && applied.version === version
  const matches = rendered ? isSame && settingsDigest(publicSettings(rendered)) === digest : null
  const secrets = rendered ? secretPointers(rendered) : []
  return { matches, settings: matches || !settings ? null : withoutReportedSecrets(settings, secrets) }
}

const storeReport = (
  connection: Connection,
  { organizationId, deviceId }: OwnedDevice,
  { profileId, version, digest, settings, matches }: Omit<ReportedConfig, 'settings'> & Judged,
) =>
  queryEntities(
    connection,
    `INSERT INTO device_reported_config AS c
       (device_id, organization_id, profile_id, version, digest, settings, matches, reported_at, differs_since)
     VALUES ($deviceId, $organizationId, $profileId, $version, $digest, $settings, $matches, now(),
       CASE WHEN NOT $matches::boolean THEN now() END)
     ON CONFLICT (device_id) DO UPDATE SET organization_id = $organizationId, profile_id = $profileId, version = $version,
       digest = $digest, settings = $settings, matches = $matches, outdated = false, reported_at = now(),
       differs_since = CASE WHEN NOT $matches::boolean THEN coalesce(c.differs_since, now()) END
     WHERE c.outdated OR (c.organization_id, c.profile_id, c.version, c.digest, c.settings, c.matches)
       IS DISTINCT FROM ($organizationId::uuid, $profileId::uuid, $version::int, $digest::text, $settings::jsonb, $matches::boolean)`,
    { deviceId, organizationId, profileId, version, digest, settings, matches },
  )
