import { counted } from './counted.ts'
import { type FoundLines, type Position, positionOf, RouteFileError } from './position.ts'

/** A geometry of a GeoJSON text. `pointer` is its place in the text (RFC 6901). */
type GeoJsonGeometry = { type: string; coordinates: unknown; pointer: string }

type Members = { type?: unknown; coordinates?: unknown; geometry?: unknown; geometries?: unknown; features?: unknown }

/** Reads the lines in a GeoJSON text (RFC 7946). Throws a RouteFileError for other text. */
export function readGeoJsonLines(text: string): FoundLines {
  const lines: Position[][] = []
  const others = new Map<string, number>()
  for (const { type, coordinates, pointer } of geoJsonGeometries(text)) {
    if (type === 'LineString') lines.push(geoJsonPositions(coordinates, pointer))
    else if (type === 'MultiLineString') {
      for (const [index, line] of geoJsonList(coordinates, pointer).entries())
        lines.push(geoJsonPositions(line, `${pointer}/${index}`))
    } else others.set(type, (others.get(type) ?? 0) + 1)
  }
  return { lines, skipped: [...others].map(([type, count]) => counted(count, type)) }
}

/** Returns the geometries in a GeoJSON text, also those in features and collections. Throws a RouteFileError for other text. */
export function geoJsonGeometries(text: string): GeoJsonGeometry[] {
  if (!/^[[{]/.test(text)) throw new RouteFileError('The file is neither GPX nor GeoJSON.')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new RouteFileError(`The file is not valid JSON: ${(error as Error).message}.`)
  }
  return geometriesIn(value, '')
}

/** Collections in collections, which no program writes deeper than a few levels. */
const maxLevels = 100

function geometriesIn(value: unknown, pointer: string, level = 0): GeoJsonGeometry[] {
  if (level > maxLevels) throw new RouteFileError(`The file has more than ${maxLevels} collections inside each other.`)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RouteFileError(`${pointer || 'The file'} is not a GeoJSON object.`)
  }
  const { type, coordinates, geometry, geometries, features }: Members = value
  const all = (list: unknown, name: string) =>
    geoJsonList(list, `${pointer}/${name}`).flatMap((one, index) =>
      geometriesIn(one, `${pointer}/${name}/${index}`, level + 1),
    )
  if (type === 'FeatureCollection') return all(features, 'features')
  if (type === 'GeometryCollection') return all(geometries, 'geometries')
  if (type === 'Feature') return geometry ? geometriesIn(geometry, `${pointer}/geometry`, level + 1) : []
  if (typeof type !== 'string') throw new RouteFileError(`${pointer || 'The file'} has no GeoJSON \`type\`.`)
  return [{ type, coordinates, pointer: `${pointer}/coordinates` }]
}

/** Returns the positions of a list. Drops altitudes and other further numbers. */
export const geoJsonPositions = (list: unknown, pointer: string): Position[] =>
  geoJsonList(list, pointer).map((position, index) => {
    const place = `${pointer}/${index}`
    const [lon, lat] = geoJsonList(position, place)
    return positionOf(lon, lat, () => place)
  })

/** Returns a list. Throws a RouteFileError for another value. */
export function geoJsonList(value: unknown, pointer: string): unknown[] {
  if (Array.isArray(value)) return value
  throw new RouteFileError(`${pointer} is not a list.`)
}
