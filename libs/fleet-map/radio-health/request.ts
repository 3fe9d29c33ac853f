import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { featureNotInPlan } from '#fleet/organizations/subscriptions'
import { createObject } from '#fleet/verbs'
import { queryEntity } from '#postgres/entities'
import { claimLasts } from './claim.ts'

export const radioHealthRunSchema = z
  .object({
    organizationId: uuid(),
    status: z.enum(['waiting', 'running']).describe('`waiting`: the worker starts it within seconds.'),
    requestedAt: instantOut().nullable().describe('Null for a nightly comparison.'),
  })
  .meta({ id: 'RadioHealthRun' })

type Run = z.infer<typeof radioHealthRunSchema>

/**
 * Requests a comparison of the organization's radios (`org:write`). Returns the one that waits or runs if there is one. Throws 404,
 * 403, 402, and 403 `plan_feature` without coverage.
 */
export const requestRadioHealth = (ctx: FleetContext, { organizationId }: { organizationId: string }): Promise<Run> =>
  createObject(ctx, { scope: 'org:write', organizationId }, async (connection, { plan }) => {
    if (!plan.fleetGps) throw featureNotInPlan('fleetGps')
    if (!plan.coverage) throw featureNotInPlan('coverage')
    const { isNew, ...run } = await queryEntity<Run & { isNew: boolean }>(
      connection,
      `INSERT INTO radio_health_run AS run (organization_id, requested_at) VALUES ($organizationId, now())
       ON CONFLICT (organization_id) DO UPDATE
         SET requested_at = CASE WHEN run.claimed_at > now() - ${claimLasts} THEN run.requested_at
           ELSE coalesce(run.requested_at, excluded.requested_at) END
       RETURNING organization_id AS "organizationId", requested_at AS "requestedAt",
         coalesce(requested_at = now(), false) AS "isNew",
         CASE WHEN claimed_at > now() - ${claimLasts} THEN 'running' ELSE 'waiting' END AS status`,
      { organizationId },
    )
    if (isNew)
      await auditCaller(ctx, connection, {
        organizationId,
        action: 'radio_health.requested',
        subjectId: organizationId,
        detail: {},
      })
    return run
  })
