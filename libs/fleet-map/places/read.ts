import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { inOrganization, withObject } from '#fleet/verbs'
import {
  type Place,
  type PlaceReference,
  type PlaceRevision,
  type PlaceRow,
  placeAccess,
  placeColumns,
  readPlace,
  toPlace,
} from '#fleet-map/places/place'

type PlaceList = { organizationId: string; tags: readonly string[]; page: PageRequest }

/** The organization's places that have all of these tags, newest first (`fleet:read`). Throws 404. */
export const listPlaces = (ctx: FleetContext, { organizationId, tags, page }: PlaceList): Promise<Page<Place>> =>
  inOrganization(ctx, { scope: 'fleet:read', organizationId }, async (connection) => {
    const found = await queryPage<PlaceRow>(
      connection,
      `SELECT ${placeColumns} FROM place
       WHERE organization_id = $organizationId AND tags @> $tags::text[] AND ($after::uuid IS NULL OR id < $after)
       ORDER BY id DESC LIMIT $limit`,
      { organizationId, tags },
      page,
    )
    return { ...found, items: found.items.map(toPlace) }
  })

/** One place (`fleet:read`). Throws 404. */
export const getPlace = (ctx: FleetContext, reference: PlaceReference): Promise<PlaceRevision> =>
  withObject(ctx, placeAccess(reference, 'fleet:read'), (connection) => readPlace(connection, reference))
