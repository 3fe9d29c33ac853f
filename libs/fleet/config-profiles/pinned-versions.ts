import { isPinnedByBatchSql } from '#fleet/config-profiles/kept-versions'
import type { ProfileReference } from '#fleet/config-profiles/read'
import type { FleetContext } from '#fleet/context'
import { readEntitlement } from '#fleet/organizations/subscriptions'
import type { Connection } from '#postgres/pool'

/** SQL condition: a device has the version `v`, or a batch can still deliver it. `$1` is the present time. */
const isPinnedSql = `(
  EXISTS (SELECT FROM device d
    WHERE d.organization_id = v.organization_id AND d.config_profile_id = v.profile_id AND d.config_profile_version = v.version)
  OR ${isPinnedByBatchSql})`

/**
 * Deletes the oldest versions of a locked profile beyond the limit `profileVersions`, except pinned ones, in the transaction
 * that adds a version. Skips versions that a retry has locked; the next change deletes them.
 */
export async function dropOldVersions(
  ctx: Pick<FleetContext, 'plans' | 'clock'>,
  connection: Connection,
  { organizationId, profileId }: ProfileReference,
): Promise<void> {
  const { plan } = await readEntitlement(ctx, connection, organizationId)
  const now = new Date(ctx.clock())
  const { rows } = await connection.query<{ version: number }>(
    `SELECT v.version FROM config_profile_version v
     WHERE v.organization_id = $2 AND v.profile_id = $3 AND v.version <= (
       SELECT version FROM config_profile_version
       WHERE organization_id = $2 AND profile_id = $3 ORDER BY version DESC OFFSET $4 LIMIT 1)
       AND NOT ${isPinnedSql}
     FOR UPDATE OF v SKIP LOCKED`,
    [now, organizationId, profileId, plan.limits.profileVersions],
  )
  if (rows.length === 0) return
  // A second statement, because the first one does not see a retry that committed before it got the lock.
  await connection.query(
    `DELETE FROM config_profile_version v
     WHERE v.organization_id = $2 AND v.profile_id = $3 AND v.version = ANY ($4::int[]) AND NOT ${isPinnedSql}`,
    [now, organizationId, profileId, rows.map(({ version }) => version)],
  )
}
