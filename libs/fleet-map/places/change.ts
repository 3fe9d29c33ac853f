import { conflict } from '#core/errors'
import { newId } from '#core/ids'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { requireTags } from '#fleet/devices/tags'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { changeObject, createObject } from '#fleet/verbs'
import {
  type PlaceReference,
  type PlaceRevision,
  placeAccess,
  placeColumns,
  type RevisedPlace,
  readPlace,
  toRevision,
} from '#fleet-map/places/place'
import { queryEntity } from '#postgres/entities'
import { isForeignKeyViolation, isUniqueViolation } from '#postgres/errors'
import { type Area, areaTest, cornersOf } from '#telemetry/geo/area'

type NewPlace = { organizationId: string; name: string; area: Area; tags?: string[] | undefined }
type PlaceChange = { name?: string | undefined; area?: Area | undefined; tags?: string[] | undefined }

/** `precondition` receives the present place and may throw 412. */
type PlaceDeletion = PlaceReference & { precondition: (current: PlaceRevision) => void }

/**
 * Creates a place (`place:write`). Throws 402, and 409 `place_name_taken` or `limit_reached`. The area must have no fault.
 */
export const createPlace = (
  ctx: FleetContext,
  { organizationId, name, area, tags = [] }: NewPlace,
): Promise<PlaceRevision> =>
  createObject(ctx, { scope: 'place:write', organizationId }, async (connection) => {
    const id = newId()
    const row = await queryEntity<RevisedPlace>(
      connection,
      `INSERT INTO place (id, organization_id, name, tags, area, ring, bounds, created_at, updated_at)
       VALUES ($id, $organizationId, $name, $tags, $area, $ring::polygon, $bounds::box,
         uuid_extract_timestamp($id), uuid_extract_timestamp($id))
       RETURNING ${placeColumns}, revision`,
      { id, organizationId, name, tags, area, ring: ringOf(area), bounds: boundsOf(area) },
    )
    await auditObject(ctx, connection, 'place.created', { organizationId, id }, { name })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'places' })
    return toRevision(row)
  }).catch(rejectTakenName)

/** Changes name, area or tags (`place:write`). Throws 404, 402 and 409 `place_name_taken`. */
export function updatePlace(
  ctx: FleetContext,
  { precondition, change, ...reference }: PlaceDeletion & { change: PlaceChange },
): Promise<PlaceRevision> {
  const object = placeAccess(reference, 'place:write')
  return changeObject(ctx, object, async (connection) => {
    const current = await readPlace(connection, reference)
    precondition(current)
    const { name, tags, area } = change
    requireTags(current.place.tags, tags)
    const shape = area ? { area, ring: ringOf(area), bounds: boundsOf(area) } : { area: null, ring: null, bounds: null }
    const row = await queryEntity<RevisedPlace>(
      connection,
      `UPDATE place SET name = coalesce($name, name), tags = coalesce($tags, tags), area = coalesce($area::jsonb, area),
         ring = CASE WHEN $area::jsonb IS NULL THEN ring ELSE $ring::polygon END, bounds = coalesce($bounds::box, bounds),
         revision = revision + 1, updated_at = now()
       WHERE organization_id = $organizationId AND id = $placeId RETURNING ${placeColumns}, revision`,
      { ...reference, name, tags, ...shape },
    )
    await auditObject(ctx, connection, 'place.updated', object, { name: row.name, fields: Object.keys(change) })
    return toRevision(row)
  }).catch(rejectTakenName)
}

/** Deletes a place (`place:write`). Throws 404, 402, and 409 `place_in_use` while an alert rule uses it. */
export function deletePlace(ctx: FleetContext, { precondition, ...reference }: PlaceDeletion): Promise<void> {
  const object = placeAccess(reference, 'place:write')
  return changeObject(ctx, object, async (connection) => {
    const current = await readPlace(connection, reference)
    precondition(current)
    await connection
      .query('DELETE FROM place WHERE organization_id = $1 AND id = $2', [reference.organizationId, reference.placeId])
      .catch(rejectUsed)
    await auditObject(ctx, connection, 'place.deleted', object, { name: current.place.name })
  })
}

/** The ring as text of Postgres' type `polygon`; null for a circle. */
const ringOf = (area: Area): string | null =>
  area.type === 'Circle'
    ? null
    : `(${cornersOf(area.coordinates[0] ?? [])
        .map(([lon, lat]) => `(${lon},${lat})`)
        .join(',')})`

/** The extent as text of Postgres' type `box`. */
function boundsOf(area: Area): string {
  const { minX, maxX, minY, maxY } = areaTest(area).extent
  return `((${maxX},${maxY}),(${minX},${minY}))`
}

function rejectUsed(error: unknown): never {
  if (!isForeignKeyViolation(error, 'alert_rule_place')) throw error
  throw conflict('place_in_use', 'Alert rules use this place. Delete or change them first.')
}

function rejectTakenName(error: unknown): never {
  if (!isUniqueViolation(error, 'place_name_taken')) throw error
  throw conflict('place_name_taken', 'Another place of the organization already has this name.')
}
