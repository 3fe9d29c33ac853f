import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { type Area, ringFault } from '#telemetry/geo/area'
import { listOf } from '../../http/schemas.ts'

const maxVertices = 500

const longitude = z.number().min(-180).max(180)
const latitude = z.number().min(-90).max(90)
const ring = z
  .array(z.tuple([longitude, latitude]))
  .min(4)
  .max(maxVertices + 1)
  .superRefine((positions, check) => {
    const fault = ringFault(positions)
    if (fault) check.addIssue({ code: 'custom', message: fault, params: { code: 'invalid_area' } })
  })
  .describe(`[longitude, latitude] positions; the last equals the first. At most ${maxVertices} vertices.`)

const polygon = z.strictObject({
  type: z.literal('Polygon'),
  coordinates: z
    .array(listOf(maxVertices + 1, ring))
    .min(1)
    .max(1, 'Send one ring. Polygons with holes are not supported.'),
})

const circle = z.strictObject({
  type: z.literal('Circle'),
  lat: latitude,
  lon: longitude,
  radiusM: z.number().min(10).max(100_000),
})

/** An area in a request body. */
export const areaIn = z
  .discriminatedUnion('type', [polygon, circle])
  .transform((area): Area => area)
  .describe('A GeoJSON Polygon (RFC 7946) with one ring, or a circle.')

export const placeSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    area: z.union([
      z.object({ type: z.literal('Polygon'), coordinates: z.array(z.array(z.array(z.number()))) }),
      z.object({ type: z.literal('Circle'), lat: z.number(), lon: z.number(), radiusM: z.number() }),
    ]),
    tags: z.array(z.string()),
    createdAt: instantOut(),
    updatedAt: instantOut(),
  })
  .meta({ id: 'Place' })
