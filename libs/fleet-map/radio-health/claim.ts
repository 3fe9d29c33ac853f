import type { Pool } from '#postgres/pool'

/** When another worker may take over a comparison, in SQL. A worker that lives renews its claim. */
export const claimLasts = "interval '10 minutes'"
const renewEveryMs = 60_000
/** The UTC hour in which all organizations are compared. Erasure follows an hour later by default. */
const nightlyHour = 2

/** SQL: the start of the last night. */
const nightStart = `(date_trunc('day', (now() AT TIME ZONE 'UTC') - interval '${nightlyHour} hours') + interval '${nightlyHour} hours') AT TIME ZONE 'UTC'`
/**
 * On its first day, an organization is compared often: its first routers are being installed, and there are few votes to read. One with
 * so many devices that a comparison takes a while, less often.
 */
const newFor = "interval '1 day'"
const newEvery = `interval '10 minutes' * greatest(1, (
  SELECT usage.device_count / 10000.0 FROM organization_usage usage WHERE usage.organization_id = o.id
))`
const isDue = `(run.requested_at IS NOT NULL OR coalesce(run.finished_at, o.created_at) < ${nightStart}
  OR (o.created_at > now() - ${newFor} AND coalesce(run.finished_at, o.created_at) < now() - ${newEvery}))`
const isFree = `(run.claimed_at IS NULL OR run.claimed_at < now() - ${claimLasts})`

/** An organization whose radios are to be compared, with the name of its plan. */
export type DueOrganization = { id: string; plan: string }

/** The organizations, except those of `plansWithout`, whose comparison was requested, or did not finish since the start of the last night or, if new, lately. */
export async function dueOrganizations(pool: Pool, plansWithout: readonly string[]): Promise<DueOrganization[]> {
  const { rows } = await pool.query<DueOrganization>(
    `SELECT o.id, o.plan FROM organization o LEFT JOIN radio_health_run run ON run.organization_id = o.id
     WHERE o.plan <> ALL ($1::text[]) AND ${isDue} AND ${isFree} ORDER BY run.requested_at, o.id`,
    [plansWithout],
  )
  return rows
}

/** Claims the comparison of an organization for this worker. Returns the time of the claim, or undefined if another worker has it. */
export async function claimRun(pool: Pool, organizationId: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ claimed: string }>(
    `INSERT INTO radio_health_run AS run (organization_id, claimed_at)
     SELECT o.id, now() FROM organization o WHERE o.id = $1
     ON CONFLICT (organization_id) DO UPDATE SET claimed_at = excluded.claimed_at
       WHERE ${isFree} AND EXISTS (SELECT FROM organization o WHERE o.id = run.organization_id AND ${isDue})
     RETURNING claimed_at::text AS claimed`,
    [organizationId],
  )
  return rows[0]?.claimed
}

/**
 * Renews a claim while `work` runs. Returns the result and the claim as it is then. If another worker has taken over, that is the last
 * one that this worker had.
 */
export async function whileClaimed<Result>(
  pool: Pool,
  { organizationId, claim, everyMs = renewEveryMs }: { organizationId: string; claim: string; everyMs?: number },
  work: () => Promise<Result>,
): Promise<{ claim: string; result: Result }> {
  let renewed = claim
  const renew = async () => {
    const { rows } = await pool.query<{ claimed: string }>(
      `UPDATE radio_health_run SET claimed_at = now() WHERE organization_id = $1 AND claimed_at = $2::timestamptz
       RETURNING claimed_at::text AS claimed`,
      [organizationId, renewed],
    )
    renewed = rows[0]?.claimed ?? renewed
  }
  let renewals = Promise.resolve()
  const timer = setInterval(() => {
    // If the database does not respond, the next renewal is in time, too.
    renewals = renewals.then(renew).catch(() => {})
  }, everyMs)
  try {
    const result = await work()
    clearInterval(timer)
    await renewals
    return { claim: renewed, result }
  } finally {
    clearInterval(timer)
  }
}
