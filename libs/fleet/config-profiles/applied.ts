import type { Queryable } from '#postgres/pool'

/** Returns the profile version that was last applied to a device. Undefined if none was. */
export async function findAppliedProfile(
  db: Queryable,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
): Promise<{ id: string; version: number } | undefined> {
  const { rows } = await db.query<{ id: string; version: number }>(
    `SELECT config_profile_id AS id, config_profile_version AS version FROM device
     WHERE organization_id = $1 AND id = $2 AND config_profile_id IS NOT NULL`,
    [organizationId, deviceId],
  )
  return rows[0]
}

/** Returns whether a job that applies a profile is in progress on the device. */
export async function isApplyingProfile(
  db: Queryable,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT FROM job
     WHERE organization_id = $1 AND device_id = $2 AND status = 'inProgress' AND kind = 'apply_config'`,
    [organizationId, deviceId],
  )
  return Boolean(rowCount)
}
