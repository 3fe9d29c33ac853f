import type { ProfileReference } from '#fleet/config-profiles/read'
import type { Connection } from '#postgres/pool'

/** How long a batch of a deleted profile can be retried after its end. */
const retryableDays = 30

/**
 * SQL condition: a batch pins the version `v`. It has open jobs, or it ended less than 30 days ago and has jobs that can be
 * retried. `$1` is the present time.
 */
export const isPinnedByBatchSql = `EXISTS (
  SELECT FROM job_batch b
  WHERE b.organization_id = v.organization_id AND b.profile_id = v.profile_id AND b.profile_version = v.version
    AND (b.finished_at IS NULL
      OR b.succeeded < b.total AND b.finished_at > $1::timestamptz - interval '${retryableDays} days'))`

type VersionKey = { organization_id: string; profile_id: string; version: number }

const chunkSize = 500

/**
 * Deletes versions of deleted profiles that no batch pins, with their secrets: of one profile, or of all. Skips versions that
 * a retry has locked. Returns how many it found, at most 500. `connection` has an open transaction.
 */
export async function deleteUnpinnedVersions(
  connection: Connection,
  { nowMs, profile }: { nowMs: number; profile?: ProfileReference },
): Promise<number> {
  const now = new Date(nowMs)
  const { rows } = await connection.query<VersionKey>(
    `SELECT organization_id, profile_id, version FROM config_profile_version v
     WHERE profile_deleted_at IS NOT NULL AND NOT ${isPinnedByBatchSql}
       AND ($2::uuid IS NULL OR organization_id = $2 AND profile_id = $3)
     LIMIT ${chunkSize} FOR UPDATE SKIP LOCKED`,
    [now, profile?.organizationId ?? null, profile?.profileId ?? null],
  )
  if (rows.length === 0) return 0
  // A second statement, because the first one does not see a retry that committed before it got the lock.
  await connection.query(
    `DELETE FROM config_profile_version v
     USING unnest($2::uuid[], $3::uuid[], $4::int[]) AS unused (organization_id, profile_id, version)
     WHERE v.organization_id = unused.organization_id AND v.profile_id = unused.profile_id
       AND v.version = unused.version AND NOT ${isPinnedByBatchSql}`,
    [
      now,
      rows.map(({ organization_id }) => organization_id),
      rows.map(({ profile_id }) => profile_id),
      rows.map(({ version }) => version),
    ],
  )
  return rows.length
}
