import type { SqlCondition, SqlEnd } from '#alerts/evaluation/changes'

/** How long a job that did not succeed is news. */
const failureDays = 7

/** The last job of each device that did not succeed, unless one of its kind succeeded afterwards with the same owner. */
export const jobFailed: SqlCondition & SqlEnd = {
  kinds: ['job_failed'],
  join: `LEFT JOIN (
      SELECT DISTINCT ON (j.organization_id, j.device_id) j.organization_id, j.device_id, j.finished_at,
        jsonb_build_object('jobId', j.id, 'jobKind', j.kind, 'jobStatus', j.status, 'errorCode', j.error_code) AS job
      FROM job j
      WHERE j.organization_id = ANY ($organizationIds::uuid[]) AND j.finished_at > now() - interval '${failureDays} days'
        AND j.status IN ('failed', 'timedOut', 'expired', 'rejected')
        AND NOT EXISTS (SELECT FROM job later
          WHERE later.organization_id = j.organization_id AND later.device_id = j.device_id
            AND later.status = 'succeeded' AND later.kind = j.kind AND later.finished_at > j.finished_at)
      ORDER BY j.organization_id, j.device_id, j.finished_at DESC
    ) failure ON failure.organization_id = d.organization_id AND failure.device_id = d.id`,
  holds: 'failure.device_id IS NOT NULL',
  since: 'failure.finished_at',
  measured: 'failure.job',
  ended: 'failure.device_id IS NULL',
}

/**
 * The device has an earlier version of its profile. The time begins with the first version that it has not. It is read once for
 * each version that devices have, because one change of a profile leaves all of its devices behind.
 */
export const profileNotApplied: SqlCondition & SqlEnd = {
  kinds: ['profile_not_applied'],
  join: `LEFT JOIN (
      SELECT had.organization_id, had.config_profile_id AS profile_id, had.config_profile_version AS version,
        p.name, p.version AS newest_version, min(v.created_at) AS since
      FROM (SELECT DISTINCT organization_id, config_profile_id, config_profile_version FROM device
          WHERE organization_id = ANY ($organizationIds::uuid[]) AND config_profile_id IS NOT NULL) had
        JOIN config_profile p ON p.organization_id = had.organization_id AND p.id = had.config_profile_id
        JOIN config_profile_version v ON v.organization_id = p.organization_id AND v.profile_id = p.id
          AND v.version > had.config_profile_version
      GROUP BY had.organization_id, had.config_profile_id, had.config_profile_version, p.name, p.version
    ) missed ON missed.organization_id = d.organization_id AND missed.profile_id = d.config_profile_id
      AND missed.version = d.config_profile_version`,
  holds: 'missed.since <= now() - make_interval(mins => r.for_minutes)',
  since: 'missed.since',
  measured: `jsonb_build_object('profileId', missed.profile_id, 'profileName', missed.name, 'version', missed.version,
      'newestVersion', missed.newest_version)`,
  ended: 'missed.since IS NULL',
}

/** The device runs something else than what was applied to it. A job that applies a profile ends it: the next report tells again. */
export const configDiffers: SqlCondition & SqlEnd = {
  kinds: ['config_differs'],
  join: `LEFT JOIN device_reported_config differing ON differing.organization_id = d.organization_id
      AND differing.device_id = d.id AND differing.differs_since IS NOT NULL AND d.config_profile_id IS NOT NULL
    LEFT JOIN config_profile differing_profile ON differing_profile.organization_id = d.organization_id
      AND differing_profile.id = d.config_profile_id`,
  holds: 'differing.differs_since <= now() - make_interval(mins => r.for_minutes)',
  since: 'differing.differs_since',
  measured: `jsonb_build_object('profileId', d.config_profile_id, 'profileName', differing_profile.name,
      'version', d.config_profile_version)`,
  ended: 'differing.differs_since IS NULL',
}
