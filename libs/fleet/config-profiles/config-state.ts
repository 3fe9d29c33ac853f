/**
 * `pending`: a job that applies a profile is open, or the device has not reported since one was applied. `unknown`: the device has
 * no profile or does not report what it runs.
 */
export const configStates = ['inSync', 'pending', 'differs', 'unknown'] as const
export type ConfigState = (typeof configStates)[number]

/** SQL: the `ConfigState` of device `d`. */
export const configStateSql = `(
  SELECT CASE
    WHEN EXISTS (SELECT FROM job j WHERE j.device_id = d.id AND j.organization_id = d.organization_id
      AND j.kind = 'apply_config' AND j.status IN ('queued', 'dispatched', 'inProgress')) THEN 'pending'
    WHEN d.config_profile_id IS NULL OR c.device_id IS NULL THEN 'unknown'
    WHEN c.outdated THEN 'pending'
    WHEN c.matches IS NULL THEN 'unknown'
    WHEN c.matches THEN 'inSync'
    ELSE 'differs' END
  FROM (SELECT) one LEFT JOIN device_reported_config c
    ON c.device_id = d.id AND c.organization_id = d.organization_id)`
