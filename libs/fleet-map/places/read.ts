import { authorizeObject } from '#fleet/access/authorize-object'
import { authorize } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, pageOf } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import {
  type Place,
  type PlaceReference,
  type PlaceRevision,
  type PlaceRow,
  placeColumns,
  readPlace,
  toPlace,
} from '#fleet-map/places/place'

type PlaceList = { organizationId: string; tags: readonly string[]; page: PageRequest }

/** The organization's places that have all of these tags, newest first (`fleet:read`). Throws 404. */
export async function listPlaces(ctx: FleetContext, { organizationId, tags, page }: PlaceList): Promise<Page<Place>> {
  authorize(ctx.principal, organizationId, 'fleet:read')
  await requireOrganization(ctx, organizationId)
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const { rows } = await connection.query<PlaceRow>(
      `SELECT ${placeColumns} FROM place
       WHERE organization_id = $1 AND tags @> $2::text[] AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
      [organizationId, tags, page.after ?? null, page.limit + 1],
    )
    return pageOf(rows, page.limit, toPlace)
  })
}

/** One place (`fleet:read`). Throws 404. */
export async function getPlace(ctx: FleetContext, reference: PlaceReference): Promise<PlaceRevision> {
  const { organizationId, placeId } = reference
  await authorizeObject(ctx, organizationId, 'fleet:read', 'place', placeId)
  return tenantTransaction(ctx, [organizationId], (connection) => readPlace(connection, reference))
}
