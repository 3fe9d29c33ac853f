import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { holds } from '#fleet/access/principal'
import { type PlannedDevice, plannedChanges } from '#fleet/config-profiles/planned-changes'
import type { ProfileReference } from '#fleet/config-profiles/read'
import { readNeededVariables } from '#fleet/config-profiles/variables/needed'
import type { FleetContext } from '#fleet/context'
import { createBatch, planJobs } from '#fleet/jobs/batches/create'
import type { BatchPlan } from '#fleet/jobs/batches/plan'
import type { Batch, BatchTarget } from '#fleet/jobs/batches/read'
import type { NewJobDelivery } from '#fleet/jobs/model/good-moment'
import type { Rollout } from '#fleet/jobs/model/rollout'
import type { Schedule } from '#fleet/jobs/model/schedule'
import { boundPool, type Queryable, transaction } from '#postgres/pool'

type ProfileApplication = ProfileReference & {
  target: BatchTarget
  schedule?: Schedule | undefined
  rollout?: Rollout | undefined
  expiresInSeconds?: number | undefined
  delivery?: NewJobDelivery | undefined
}

/**
 * Applies the present version of a profile to devices or a group: creates one `apply_config` job per device for that version
 * (`config:apply`). Throws 404 for an unknown profile, group or device, and 402.
 */
export const applyProfile = (ctx: FleetContext, application: ProfileApplication): Promise<Batch> =>
  withProfile(ctx, application, createBatch)

/** `devices`: what changes on some of the devices, in the order of their ids; null for callers that may not read settings. */
type ApplicationPlan = BatchPlan & { devices: PlannedDevice[] | null; nextAfter: string | null }

/**
 * Returns what `applyProfile` would create, and with `config:read` the settings that would change on at most `limit` devices behind
 * `after`. Creates nothing. Throws the same errors.
 */
export const planApplication = (
  ctx: FleetContext,
  application: ProfileApplication,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<ApplicationPlan> =>
  withProfile(ctx, application, async (bound, input) => {
    const { organizationId, profile } = input
    const mayRead = profile !== undefined && holds(ctx.principal, organizationId, 'config:read')
    const page = { after, limit: mayRead ? limit + 1 : 0 }
    const { plan, result } = await planJobs(bound, input, page, async (connection, jobs) => {
      const shown = jobs.slice(0, limit)
      if (!mayRead) return { devices: null, nextAfter: null }
      const version = { organizationId, profileId: profile.id, version: profile.version }
      const devices = await plannedChanges(ctx, connection, version, shown)
      return { devices, nextAfter: jobs.length > limit ? (shown.at(-1)?.deviceId ?? null) : null }
    })
    return { ...plan, ...result }
  })

/** Calls a verb for jobs with the present version of a profile, which it locks against changes. */
async function withProfile<Result>(
  ctx: FleetContext,
  { organizationId, profileId, ...input }: ProfileApplication,
  verb: (ctx: FleetContext, input: Parameters<typeof createBatch>[1]) => Promise<Result>,
): Promise<Result> {
  await authorizeObject(ctx, organizationId, 'config:apply', 'profile', profileId)
  return transaction(ctx.pool, async (connection) => {
    const profile = await lockSharedProfile(connection, organizationId, profileId)
    const { parameters: variables } = await readNeededVariables(ctx, connection, {
      organizationId,
      profileId: profile.id,
      version: profile.version,
    })
    const bound = { ...ctx, pool: boundPool(connection) }
    return verb(bound, { ...input, organizationId, kind: 'apply_config', profile: { ...profile, variables } })
  })
}

/** Locks the profile against changes until the transaction that creates its jobs ends. Throws 404. */
async function lockSharedProfile(db: Queryable, organizationId: string, profileId: string) {
  const { rows } = await db.query<{ id: string; name: string; version: number; model: string | null }>(
    'SELECT id, name, version, model FROM config_profile WHERE organization_id = $1 AND id = $2 FOR SHARE',
    [organizationId, isUuid(profileId) ? profileId : null],
  )
  if (!rows[0]) throw notFound('profile', profileId)
  return rows[0]
}
