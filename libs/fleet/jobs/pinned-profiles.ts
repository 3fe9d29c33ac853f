import { conflict, type ServiceError } from '#core/errors'
import type { BatchReference } from '#fleet/jobs/batches/read'
import type { LockedJob } from '#fleet/jobs/changes/locking'
import { changeJobs } from '#fleet/jobs/changes/state-change'
import type { Connection } from '#postgres/pool'

// A batch pins the version of the profile that its jobs apply. A router must receive this version or none.

/** SQL condition: the job `j` of the left-joined batch `b` applies a version that does not exist. */
export const isProfileGoneSql = `(j.kind = 'apply_config' AND NOT EXISTS (
  SELECT FROM config_profile_version v
  WHERE v.organization_id = j.organization_id AND v.profile_id = b.profile_id AND v.version = b.profile_version))`

export const profileGone = (detail: string): ServiceError => conflict('profile_gone', detail)

/**
 * Throws 409 `profile_gone` if the jobs of the batch apply a version that does not exist. Keeps the version until the
 * transaction ends.
 */
export async function requirePinnedProfile(
  connection: Connection,
  { organizationId, batchId }: BatchReference,
): Promise<void> {
  const { rows } = await connection.query<{ id: string | null; version: number | null; name: string | null }>(
    `SELECT profile_id AS id, profile_version AS version, profile_name AS name FROM job_batch
     WHERE organization_id = $1 AND id = $2 AND kind = 'apply_config'`,
    [organizationId, batchId],
  )
  const [pinned] = rows
  if (!pinned) return
  const { rowCount } = await connection.query(
    `SELECT FROM config_profile_version WHERE organization_id = $1 AND profile_id = $2 AND version = $3
     FOR KEY SHARE`,
    [organizationId, pinned.id, pinned.version],
  )
  if (rowCount) return
  const name = pinned.name === null ? '' : ` “${pinned.name}”`
  throw profileGone(
    `Version ${pinned.version} of the profile${name} no longer exists. Apply another profile to these devices.`,
  )
}

/** Ends the jobs whose version of a profile does not exist, as `rejected`. Returns the other jobs. */
export async function rejectGoneProfiles(
  connection: Connection,
  jobs: readonly LockedJob[],
  nowMs: number,
): Promise<LockedJob[]> {
  const applying = jobs.filter(({ kind }) => kind === 'apply_config')
  if (applying.length === 0) return [...jobs]
  const { rows } = await connection.query<{ id: string }>(
    `SELECT j.id FROM job j LEFT JOIN job_batch b ON b.id = j.batch_id
     WHERE j.id = ANY($1::uuid[]) AND ${isProfileGoneSql}`,
    [applying.map(({ id }) => id)],
  )
  const gone = new Set(rows.map(({ id }) => id))
  const rejected = jobs.filter(({ id }) => gone.has(id))
  await changeJobs(connection, rejected, () => ({ type: 'withdraw', because: 'profileGone' }), { by: 'system', nowMs })
  return jobs.filter(({ id }) => !gone.has(id))
}
