import type { SqlCondition, SqlEnd } from '#alerts/evaluation/changes'

/** How long a job that did not succeed is news. */
const failureDays = 7

/** The newest job of each device that did not succeed, unless a later one of its kind did. */
export const jobFailed: SqlCondition & SqlEnd = {
  kinds: ['job_failed'],
  join: `LEFT JOIN (
      SELECT DISTINCT ON (j.organization_id, j.device_id) j.organization_id, j.device_id, j.finished_at,
        jsonb_build_object('jobId', j.id, 'jobKind', j.kind, 'jobStatus', j.status, 'errorCode', j.error_code) AS job
      FROM job j
      WHERE j.organization_id = ANY ($organizationIds::uuid[]) AND j.finished_at > now() - interval '${failureDays} days'
        AND j.status IN ('failed', 'timedOut', 'expired', 'rejected')
        AND NOT EXISTS (SELECT FROM job later
          WHERE later.device_id = j.device_id AND later.status = 'succeeded' AND later.id > j.id AND later.kind = j.kind)
      ORDER BY j.organization_id, j.device_id, j.finished_at DESC
    ) failure ON failure.organization_id = d.organization_id AND failure.device_id = d.id`,
  holds: 'failure.device_id IS NOT NULL',
  since: 'failure.finished_at',
  measured: 'failure.job',
  ended: 'failure.device_id IS NULL',
}

/** The device has an earlier version of its profile. The time begins with the first version that it has not. */
export const profileNotApplied: SqlCondition & SqlEnd = {
  kinds: ['profile_not_applied'],
  join: `LEFT JOIN config_profile p ON p.organization_id = d.organization_id AND p.id = d.config_profile_id
        AND p.version <> d.config_profile_version
      LEFT JOIN LATERAL (SELECT min(v.created_at) AS since FROM config_profile_version v
        WHERE v.organization_id = p.organization_id AND v.profile_id = p.id AND v.version > d.config_profile_version
      ) missed ON true`,
  holds: 'missed.since <= now() - make_interval(mins => r.for_minutes)',
  since: 'missed.since',
  measured: `jsonb_build_object('profileId', p.id, 'profileName', p.name, 'version', d.config_profile_version,
      'newestVersion', p.version)`,
  ended: 'missed.since IS NULL',
}
