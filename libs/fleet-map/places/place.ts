import { z } from 'zod'
import { notFound } from '#core/errors'
import { instantOut, uuid } from '#core/schemas'
import type { Scope } from '#fleet/access/scopes'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'
import { polygonGeometry } from '#telemetry/geo/antimeridian'
import type { Area } from '#telemetry/geo/area'

const ring = z.array(z.tuple([z.number(), z.number()]))

/** A named area of an organization. */
export const placeSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    area: z
      .union([
        z.object({ type: z.literal('Polygon'), coordinates: z.array(ring) }),
        z.object({ type: z.literal('MultiPolygon'), coordinates: z.array(z.array(ring)) }),
        z.object({ type: z.literal('Circle'), lat: z.number(), lon: z.number(), radiusM: z.number() }),
      ])
      .describe('A polygon across the antimeridian is a MultiPolygon of its parts (RFC 7946, 3.1.9).'),
    tags: z.array(z.string()),
    createdAt: instantOut(),
    updatedAt: instantOut(),
  })
  .meta({ id: 'Place' })

export type Place = z.infer<typeof placeSchema>

/** A place with its revision, which is its entity tag. */
export type PlaceRevision = { place: Place; revision: string }

export type PlaceReference = { organizationId: string; placeId: string }

export const placeAccess = ({ organizationId, placeId }: PlaceReference, scope: Scope) =>
  ({ scope, noun: 'place', organizationId, id: placeId }) as const

/** The columns of a `PlaceRow`, for SELECT and RETURNING. */
export const placeColumns = 'id, name, area, tags, created_at AS "createdAt", updated_at AS "updatedAt"'

/** A place as it is stored: the ring of a polygon is whole. */
export type PlaceRow = Omit<Place, 'area'> & { area: Area }

/** A row of `placeColumns` and `revision`. */
export type RevisedPlace = PlaceRow & { revision: string }

export function toPlace(row: PlaceRow): Place {
  const { area } = row
  return { ...row, area: area.type === 'Circle' ? area : polygonGeometry(area.coordinates[0] ?? []) }
}

export const toRevision = ({ revision, ...row }: RevisedPlace): PlaceRevision => ({ place: toPlace(row), revision })

/** Reads a place, for verbs that have authorized the caller. Throws 404. */
export async function readPlace(db: Queryable, reference: PlaceReference): Promise<PlaceRevision> {
  const [row] = await queryEntities<RevisedPlace>(
    db,
    `SELECT ${placeColumns}, revision FROM place WHERE organization_id = $organizationId AND id = $placeId`,
    reference,
  )
  if (!row) throw notFound('place', reference.placeId)
  return toRevision(row)
}
