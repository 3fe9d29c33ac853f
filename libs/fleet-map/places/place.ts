import { notFound } from '#core/errors'
import { isUuid } from '#core/ids'
import type { Queryable } from '#postgres/pool'
import type { Area } from '#telemetry/geo/area'

/** A named area of an organization. */
export type Place = {
  id: string
  name: string
  area: Area
  tags: string[]
  createdAt: string
  updatedAt: string
}

/** A place with its revision, which is its entity tag. */
export type PlaceRevision = { place: Place; revision: string }

export type PlaceReference = { organizationId: string; placeId: string }

export type PlaceRow = {
  id: string
  organization_id: string
  name: string
  area: Area
  tags: string[]
  revision: string
  created_at: Date
  updated_at: Date
}

export const placeColumns = 'id, organization_id, name, area, tags, revision, created_at, updated_at'

export const toPlace = (row: PlaceRow): Place => ({
  id: row.id,
  name: row.name,
  area: row.area,
  tags: row.tags,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
})

export const toPlaceRevision = (row: PlaceRow): PlaceRevision => ({ place: toPlace(row), revision: row.revision })

/** Reads a place, for verbs that have authorized the caller. `lock` locks the row until the transaction ends. Throws 404. */
export async function readPlace(
  db: Queryable,
  { organizationId, placeId }: PlaceReference,
  { lock = false } = {},
): Promise<PlaceRevision> {
  const { rows } = await db.query<PlaceRow>(
    `SELECT ${placeColumns} FROM place WHERE organization_id = $1 AND id = $2${lock ? ' FOR UPDATE' : ''}`,
    [organizationId, isUuid(placeId) ? placeId : null],
  )
  if (!rows[0]) throw notFound('place', placeId)
  return toPlaceRevision(rows[0])
}
