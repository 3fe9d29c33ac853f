import { conflict } from '#core/errors'
import { newId } from '#core/ids'
import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { requireActiveSubscription } from '#fleet/organizations/subscriptions'
import { tenantTransaction } from '#fleet/tenant'
import {
  type PlaceReference,
  type PlaceRevision,
  type PlaceRow,
  placeColumns,
  readPlace,
  toPlaceRevision,
} from '#fleet-map/places/place'
import { isForeignKeyViolation, isUniqueViolation } from '#postgres/errors'
import type { Queryable } from '#postgres/pool'
import { type Area, areaTest, unwrapRing } from '#telemetry/geo/area'

type NewPlace = { organizationId: string; name: string; area: Area; tags?: string[] | undefined }
type PlaceChange = { name?: string | undefined; area?: Area | undefined; tags?: string[] | undefined }

/** `precondition` receives the present place and may throw 412. */
type PlaceDeletion = PlaceReference & { precondition: (current: PlaceRevision) => void }

/**
 * Creates a place (`place:write`). Throws 402, and 409 `place_name_taken` or `limit_reached`. The area must have no fault.
 */
export async function createPlace(ctx: FleetContext, { organizationId, ...input }: NewPlace): Promise<PlaceRevision> {
  authorize(ctx.principal, organizationId, 'place:write')
  const { name, area, tags = [] } = input
  return rejectTakenName(() =>
    tenantTransaction(ctx, [organizationId], async (connection) => {
      await requireActiveSubscription(ctx, connection, organizationId)
      const id = newId()
      const { rows } = await connection.query<PlaceRow>(
        `INSERT INTO place (id, organization_id, name, tags, area, ring, bounds, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6::polygon, $7::box, uuid_extract_timestamp($1), uuid_extract_timestamp($1))
         RETURNING ${placeColumns}`,
        [id, organizationId, name, tags, JSON.stringify(area), ringOf(area), boundsOf(area)],
      )
      await auditPlace(ctx, connection, { organizationId, placeId: id }, 'place.created', { name })
      await requireWithinLimit(ctx, connection, { organizationId, limit: 'places' })
      return revisionOf(rows)
    }),
  )
}

/** Changes name, area or tags (`place:write`). Throws 404, 402 and 409 `place_name_taken`. */
export async function updatePlace(
  ctx: FleetContext,
  { precondition, change, ...reference }: PlaceDeletion & { change: PlaceChange },
): Promise<PlaceRevision> {
  const { organizationId, placeId } = reference
  await authorizeObject(ctx, organizationId, 'place:write', 'place', placeId)
  return rejectTakenName(() =>
    tenantTransaction(ctx, [organizationId], async (connection) => {
      const current = await readPlace(connection, reference, { lock: true })
      await requireActiveSubscription(ctx, connection, organizationId)
      precondition(current)
      const area = change.area ?? current.place.area
      const { rows } = await connection.query<PlaceRow>(
        `UPDATE place SET name = coalesce($3, name), tags = coalesce($4, tags), area = $5, ring = $6::polygon, bounds = $7::box,
           revision = revision + 1, updated_at = now()
         WHERE organization_id = $1 AND id = $2 RETURNING ${placeColumns}`,
        [
          organizationId,
          placeId,
          change.name ?? null,
          change.tags ?? null,
          JSON.stringify(area),
          ringOf(area),
          boundsOf(area),
        ],
      )
      await auditPlace(ctx, connection, reference, 'place.updated', { fields: Object.keys(change) })
      return revisionOf(rows)
    }),
  )
}

/** Deletes a place (`place:write`). Throws 404, 402, and 409 `place_in_use` while an alert rule uses it. */
export async function deletePlace(ctx: FleetContext, { precondition, ...reference }: PlaceDeletion): Promise<void> {
  const { organizationId, placeId } = reference
  await authorizeObject(ctx, organizationId, 'place:write', 'place', placeId)
  await tenantTransaction(ctx, [organizationId], async (connection) => {
    const current = await readPlace(connection, reference, { lock: true })
    await requireActiveSubscription(ctx, connection, organizationId)
    precondition(current)
    await connection
      .query('DELETE FROM place WHERE organization_id = $1 AND id = $2', [organizationId, placeId])
      .catch(rejectUsed)
    await auditPlace(ctx, connection, reference, 'place.deleted', { name: current.place.name })
  })
}

/** The ring as text of Postgres' type `polygon`; null for a circle. */
const ringOf = (area: Area): string | null =>
  area.type === 'Circle'
    ? null
    : `(${unwrapRing(area.coordinates[0] ?? [])
        .map(([lon, lat]) => `(${lon},${lat})`)
        .join(',')})`

/** The extent as text of Postgres' type `box`. */
function boundsOf(area: Area): string {
  const { minX, maxX, minY, maxY } = areaTest(area).extent
  return `((${maxX},${maxY}),(${minX},${minY}))`
}

function revisionOf([row]: readonly PlaceRow[]): PlaceRevision {
  if (!row) throw new Error('The place was not written.')
  return toPlaceRevision(row)
}

function rejectUsed(error: unknown): never {
  if (!isForeignKeyViolation(error, 'alert_rule_place')) throw error
  throw conflict('place_in_use', 'Alert rules use this place. Delete or change them first.')
}

const auditPlace = (
  ctx: FleetContext,
  db: Queryable,
  { organizationId, placeId }: PlaceReference,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> => auditCaller(ctx, db, { organizationId, action, subjectType: 'place', subjectId: placeId, detail })

async function rejectTakenName<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!isUniqueViolation(error, 'place_name_taken')) throw error
    throw conflict('place_name_taken', 'Another place of the organization already has this name.')
  }
}
