import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import { authorizeObject, lockObject, type ObjectNoun } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Entitlement, requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import type { Connection } from '#postgres/pool'

// How verbs begin: authorization first, and then a transaction that is limited to the organization.

/** The scope that a verb requires, and its organization. */
type Access = { scope: Scope; organizationId: string }
/** The object of a verb. `noun` is what error messages call it. */
type ObjectAccess = Access & { noun: ObjectNoun; id: string }

type Work<Result> = (connection: Connection) => Promise<Result>
type EntitledWork<Result> = (connection: Connection, entitlement: Entitlement) => Promise<Result>

/** Runs `work` for a verb on an organization, for example a list. Throws 404 and 403. */
export async function inOrganization<Result>(
  ctx: FleetContext,
  { scope, organizationId }: Access,
  work: Work<Result>,
): Promise<Result> {
  authorize(ctx.principal, organizationId, scope)
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], work)
}

/** Runs `work` for a verb that creates an object in an organization with an active subscription. Throws 404, 403 and 402. */
export async function createObject<Result>(
  ctx: FleetContext,
  { scope, organizationId }: Access,
  work: EntitledWork<Result>,
): Promise<Result> {
  authorize(ctx.principal, organizationId, scope)
  return tenantTransaction(ctx, [organizationId], async (connection) =>
    work(connection, await requireActiveSubscription(ctx, connection, organizationId)),
  )
}

/** Runs `work` for a verb on one object. Throws 404 and 403 as `authorizeObject` does, and 404 for an id that is no UUID. */
export async function withObject<Result>(
  ctx: FleetContext,
  { scope, noun, organizationId, id }: ObjectAccess,
  work: Work<Result>,
): Promise<Result> {
  await authorizeObject(ctx, organizationId, scope, noun, id)
  if (!isUuid(id)) throw notFound(noun, id)
  return tenantTransaction(ctx, [organizationId], work)
}

/**
 * Runs `work` for a verb that changes or deletes an object, which it locks first, in an organization with an active
 * subscription. Throws 404 and 403, and 402 for an object that exists.
 */
export const changeObject = <Result>(
  ctx: FleetContext,
  object: ObjectAccess,
  work: EntitledWork<Result>,
): Promise<Result> =>
  withObject(ctx, object, async (connection) => {
    await lockObject(connection, object)
    return work(connection, await requireActiveSubscription(ctx, connection, object.organizationId))
  })
