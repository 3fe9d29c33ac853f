import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorize, holds, sees } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'

/** Tables of the objects of an organization, by the name that error messages use. */
const tables = {
  'firmware image': 'firmware_image',
  group: 'device_group',
  profile: 'config_profile',
  job: 'job',
  'job batch': 'job_batch',
  webhook: 'webhook',
  place: 'place',
  alert: 'alert',
  'alert rule': 'alert_rule',
  'saved view': 'saved_view',
} as const

/**
 * First line of a verb on one object of an organization. Like `authorize`, but throws 404 for an object that does not exist
 * before 403 for a missing scope, as the API specifies. Queries the database only when the scope is missing.
 */
export async function authorizeObject(
  ctx: Pick<FleetContext, 'principal' | 'pool'>,
  organizationId: string,
  scope: Scope,
  kind: keyof typeof tables,
  id: string,
): Promise<void> {
  if (sees(ctx.principal, organizationId) && !holds(ctx.principal, organizationId, scope)) {
    const { rowCount } = await ctx.pool.query(`SELECT FROM ${tables[kind]} WHERE organization_id = $1 AND id = $2`, [
      organizationId,
      isUuid(id) ? id : null,
    ])
    if (!rowCount) throw notFound(kind, id)
  }
  authorize(ctx.principal, organizationId, scope)
}
