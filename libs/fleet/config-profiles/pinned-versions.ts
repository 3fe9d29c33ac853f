import type { FleetContext } from '#fleet/context'
import { readEntitlement } from '#fleet/organizations/subscriptions'
import type { Queryable } from '#postgres/pool'

/**
 * SQL condition that something still needs version `v` of a profile (a row of `config_profile_version`): it is the present
 * one, a device has it, or a batch can still deliver it, because jobs of it are unfinished or can be retried.
 */
const isPinnedVersionSql = (v: string): string => `(
  EXISTS (SELECT FROM config_profile present
    WHERE present.organization_id = ${v}.organization_id AND present.id = ${v}.profile_id AND present.version = ${v}.version)
  OR EXISTS (SELECT FROM device d
    WHERE d.organization_id = ${v}.organization_id AND d.config_profile_id = ${v}.profile_id
      AND d.config_profile_version = ${v}.version)
  OR EXISTS (SELECT FROM job_batch b
    WHERE b.organization_id = ${v}.organization_id AND b.profile_id = ${v}.profile_id AND b.profile_version = ${v}.version
      AND b.succeeded < b.total))`

/** Deletes the oldest versions of a profile beyond the limit `profileVersions`, except pinned ones. */
export async function dropOldVersions(
  ctx: Pick<FleetContext, 'plans'>,
  db: Queryable,
  { organizationId, profileId }: { organizationId: string; profileId: string },
): Promise<void> {
  const { plan } = await readEntitlement(ctx, db, organizationId)
  await db.query(
    `DELETE FROM config_profile_version v
     WHERE v.organization_id = $1 AND v.profile_id = $2 AND v.version <= (
       SELECT version FROM config_profile_version
       WHERE organization_id = $1 AND profile_id = $2 ORDER BY version DESC OFFSET $3 LIMIT 1)
       AND NOT ${isPinnedVersionSql('v')}`,
    [organizationId, profileId, plan.limits.profileVersions],
  )
}
