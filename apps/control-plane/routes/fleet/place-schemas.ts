import { z } from 'zod'
import { onlyRing } from '#telemetry/geo/antimeridian'
import { type Area, ringFault } from '#telemetry/geo/area'
import { geoJson, geoJsonObject, latitude, longitude, position, toLonLat, withEntries } from './geojson-schemas.ts'

const maxVertices = 500

type Ring = readonly (readonly [lon: number, lat: number])[]

const addFault = (ring: Ring, { addIssue }: z.core.$RefinementCtx): void => {
  const fault = ring.length > maxVertices + 1 ? `Send at most ${maxVertices} vertices.` : ringFault(ring)
  if (fault) addIssue({ code: 'custom', message: fault, params: { code: 'invalid_area' } })
}

const ring = z
  .array(position)
  .min(4)
  .max(maxVertices + 1)
  .transform((sent, check): Ring => {
    const positions = sent.map(toLonLat)
    addFault(positions, check)
    return positions
  })
  .describe(
    `[longitude, latitude] positions; the last equals the first. At most ${maxVertices} vertices. Altitudes are ignored.`,
  )
const rings = z.array(ring).min(1).max(1, 'Send one ring. Polygons with holes are not supported.')

const polygon = geoJsonObject('Polygon', { coordinates: rings }).meta({ id: 'AreaPolygon' })
// QGIS and others write every polygon as a MultiPolygon.
const multiPolygon = geoJsonObject('MultiPolygon', { coordinates: z.array(rings) }).meta({ id: 'AreaMultiPolygon' })
const ignored = z
  .object({ type: z.enum(['Point', 'MultiPoint', 'LineString', 'MultiLineString']) })
  .meta({ id: 'IgnoredAreaGeometry' })

const polygonArea = geoJson(
  'Area',
  z.discriminatedUnion('type', [polygon, multiPolygon, ignored]),
  'An area is a Polygon or a Circle. Send a GeoJSON Polygon, alone, in a Feature or in a collection.',
).transform((geometries, check): Area => {
  const polygons = geometries.flatMap((sent) => {
    if (sent.type === 'Polygon') return [sent.coordinates]
    return sent.type === 'MultiPolygon' ? sent.coordinates : []
  })
  const rings = polygons.map(([ring = []]) => ring)
  const whole = onlyRing(rings)?.map(([lon, lat]) => [lon, lat] as const)
  if (!whole) check.addIssue({ code: 'custom', path: ['type'], message: `Send one polygon, got ${rings.length}.` })
  else if (rings.length > 1) addFault(whole, check)
  return { type: 'Polygon', coordinates: [whole ?? []] }
})

const circle = z
  .strictObject({
    type: z.literal('Circle'),
    lat: latitude,
    lon: longitude,
    radiusM: z.number().min(10).max(100_000),
  })
  .meta({ id: 'AreaCircle' })

/** An area in a request body. */
export const areaIn = withEntries(10 * maxVertices, z.discriminatedUnion('type', [polygonArea, circle]))
  .describe(
    'A circle, or a GeoJSON Polygon (RFC 7946) with one ring. The polygon can be in a Feature, in a collection or be a MultiPolygon, if it is the only one. The two sides of a polygon across the antimeridian, as answers have them, count as one. Altitudes, `bbox`, `crs`, properties, and points and lines beside the polygon are ignored.',
  )
  .meta({ id: 'NewArea' })
