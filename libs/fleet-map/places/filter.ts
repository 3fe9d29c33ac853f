import { notFound } from '#core/errors'
import type { MappedOrganization } from '#fleet-map/access'
import type { Queryable } from '#postgres/pool'
import { type Area, type AreaTest, areaTest } from '#telemetry/geo/area'

/** A place as a filter of a request. `key` changes when its area changes. */
export type PlaceFilter = AreaTest & { key: string }

/** The place of a query's `placeId`; undefined without one. Throws 404 if it belongs to none of these organizations. */
export async function placeFilter(
  db: Queryable,
  organizations: readonly MappedOrganization[],
  placeId: string | undefined,
): Promise<PlaceFilter | undefined> {
  if (placeId === undefined) return undefined
  const { rows } = await db.query<{ area: Area; revision: string }>(
    'SELECT area, revision FROM place WHERE id = $1 AND organization_id = ANY ($2::uuid[])',
    [placeId, organizations.map(({ organizationId }) => organizationId)],
  )
  const [row] = rows
  if (!row) throw notFound('place', placeId)
  return { ...areaTest(row.area), key: `${placeId} ${row.revision}` }
}

type Centre = { id: string; organizationId: string; lat: number; lon: number }

/** The places of the organization of each centre that contain it, by the id of the centre and in order of their names. */
export async function placesContaining(
  db: Queryable,
  centres: readonly Centre[],
): Promise<Map<string, { id: string; name: string }[]>> {
  if (centres.length === 0) return new Map()
  const { rows } = await db.query<{ centre: string; id: string; name: string }>(
    `SELECT centre.id AS centre, place.id, place.name
     FROM unnest($1::text[], $2::uuid[], $3::float8[], $4::float8[]) AS centre (id, organization_id, lat, lon)
     JOIN place ON place.organization_id = centre.organization_id AND place_contains(place, centre.lat, centre.lon)
     ORDER BY place.name`,
    [
      centres.map(({ id }) => id),
      centres.map(({ organizationId }) => organizationId),
      centres.map(({ lat }) => lat),
      centres.map(({ lon }) => lon),
    ],
  )
  const byCentre = new Map<string, { id: string; name: string }[]>()
  for (const { centre, id, name } of rows) byCentre.set(centre, [...(byCentre.get(centre) ?? []), { id, name }])
  return byCentre
}
