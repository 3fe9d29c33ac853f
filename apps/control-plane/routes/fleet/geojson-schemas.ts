import { z } from 'zod'

export const longitude = z.number().min(-180).max(180)
export const latitude = z.number().min(-90).max(90)

/** A position in a request. Numbers after longitude and latitude, such as an altitude and a measure, are ignored. */
export const position = z.tuple([longitude, latitude], z.number().nullable())
type SentPosition = z.infer<typeof position>

export const toLonLat = ([lon, lat]: SentPosition): [lon: number, lat: number] => [lon, lat]

/**
 * A GeoJSON object (RFC 7946) of a type. Members that are not named here are ignored, such as `bbox`, `crs`, `properties` and
 * those of the program that wrote it.
 */
export const geoJsonObject = <Type extends string, Members extends z.ZodRawShape>(type: Type, members: Members) =>
  z.object({ type: z.literal(type), ...members })

/**
 * GeoJSON with these geometries: one alone, in a Feature or in a collection. Transforms it to the list of geometries. The names
 * of its schemas in the API begin with `name`.
 */
export function geoJson<Geometry extends z.ZodType & z.core.$ZodTypeDiscriminable>(
  name: string,
  geometry: Geometry,
  error: string,
) {
  const collection = geoJsonObject('GeometryCollection', { geometries: z.array(geometry) }).meta({
    id: `${name}GeometryCollection`,
  })
  const feature = geoJsonObject('Feature', {
    geometry: z.discriminatedUnion('type', [geometry, collection], error).nullable(),
  }).meta({ id: `${name}Feature` })
  const features = geoJsonObject('FeatureCollection', { features: z.array(feature) }).meta({
    id: `${name}FeatureCollection`,
  })
  type Sent = z.infer<Geometry | typeof collection | typeof feature | typeof features>
  const geometriesIn = (sent: Sent): z.infer<Geometry>[] => {
    const { geometry, geometries, features } = sent as {
      geometry?: Sent | null
      geometries?: Sent[]
      features?: Sent[]
    }
    if (geometry === null) return []
    const inside = geometry ? [geometry] : (geometries ?? features)
    return inside ? inside.flatMap(geometriesIn) : [sent as z.infer<Geometry>]
  }
  return z.discriminatedUnion('type', [geometry, collection, feature, features], error).transform(geometriesIn)
}

/**
 * Rejects GeoJSON with more entries in its lists before it is validated: a body can contain 500,000 invalid entries, and as
 * many errors would block the process.
 */
export const withEntries = <Schema extends z.ZodType>(maxEntries: number, schema: Schema) =>
  z.preprocess((value: z.input<Schema>, check) => {
    if (!hasMoreEntries(value, maxEntries)) return value
    const message = 'Too many coordinates.'
    check.addIssue({ code: 'too_big', origin: 'array', maximum: maxEntries, inclusive: true, input: value, message })
    return z.NEVER
  }, schema)

const members = ['coordinates', 'geometry', 'geometries', 'features']

function hasMoreEntries(value: unknown, maxEntries: number): boolean {
  const waiting: unknown[] = [value]
  let entries = 0
  while (waiting.length > 0) {
    const here = waiting.pop()
    if (typeof here !== 'object' || here === null) continue
    if (!Array.isArray(here)) {
      for (const name of members) waiting.push((here as Record<string, unknown>)[name])
      continue
    }
    entries += here.length
    if (entries > maxEntries) return true
    for (const entry of here) waiting.push(entry)
  }
  return false
}
