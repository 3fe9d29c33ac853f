import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorize, holds, sees } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import type { Queryable } from '#postgres/pool'

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
  'chat channel': 'chat_channel',
  'saved view': 'saved_view',
} as const

export type ObjectNoun = keyof typeof tables

type SoughtObject = {
  /** As error messages name it. */
  kind: string
  id: string
  /** Queries the object. `rowCount` is 0 if the organization has no such object. */
  find: () => Promise<{ rowCount: number | null }>
}

/**
 * First line of a verb on one object of an organization. Like `authorize`, but throws 404 for an object that does not exist
 * before 403 for a missing scope, as the API specifies. Queries the database only when the scope is missing.
 */
export async function authorizeObject(
  ctx: Pick<FleetContext, 'principal' | 'pool'>,
  organizationId: string,
  scope: Scope,
  kind: ObjectNoun,
  id: string,
): Promise<void> {
  const text = `SELECT FROM ${tables[kind]} WHERE organization_id = $1 AND id = $2`
  const find = () => ctx.pool.query(text, [organizationId, isUuid(id) ? id : null])
  await authorizeFound(ctx, organizationId, scope, { kind, id, find })
}

/** Like `authorizeObject`, for objects that the module of their noun finds. Calls `find` only when the scope is missing. */
export async function authorizeFound(
  { principal }: Pick<FleetContext, 'principal'>,
  organizationId: string,
  scope: Scope,
  { kind, id, find }: SoughtObject,
): Promise<void> {
  if (sees(principal, organizationId) && !holds(principal, organizationId, scope)) {
    const { rowCount } = await find()
    if (!rowCount) throw notFound(kind, id)
  }
  authorize(principal, organizationId, scope)
}

/** Locks an object until the transaction ends. Throws 404. */
export async function lockObject(
  connection: Queryable,
  { noun, organizationId, id }: { noun: ObjectNoun; organizationId: string; id: string },
): Promise<void> {
  const text = `SELECT FROM ${tables[noun]} WHERE organization_id = $1 AND id = $2 FOR UPDATE`
  const { rowCount } = await connection.query(text, [organizationId, id])
  if (!rowCount) throw notFound(noun, id)
}
