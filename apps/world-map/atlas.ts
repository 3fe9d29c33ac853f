import type { Feature, FeatureCollection, LineString, MultiPolygon, Polygon, Position } from 'geojson'
import { feature, mesh } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import { splitLine, unwrapRing } from '#telemetry/geo/antimeridian'
import { earthRadiusM, radians } from '#telemetry/geo/geo'
import { worldPoint } from '#telemetry/geo/mercator'

/** Countries and land of Natural Earth at 1:10 million, as `world-atlas` has them. */
export type WorldAtlas = Topology<{ countries: GeometryCollection<{ name: string }>; land: GeometryCollection }>

/** A country's name on the map, at a place inside its largest part. `order`: 0 for the largest country. */
export type CountryName = { name: string; x: number; y: number; minZoom: number; order: number }

type Ring = [lon: number, lat: number][]

/** The zoom from which a country's name is shown, by its least area in km². */
const zoomsByArea = [
  [800_000, 2],
  [150_000, 3],
  [25_000, 4],
  [1_000, 5],
] as const
const smallestZoom = 6

/** Returns the land: one polygon for each continent and island. Those across the antimeridian go beyond ±180°. */
export function landOf(atlas: WorldAtlas): FeatureCollection<Polygon> {
  const polygons = feature(atlas, atlas.objects.land).features.flatMap(({ geometry }) => polygonsOf(geometry))
  return collection(polygons.map((coordinates) => ({ type: 'Polygon', coordinates })))
}

/** Returns the borders between countries, without coasts. */
export function bordersOf(atlas: WorldAtlas): FeatureCollection<LineString> {
  const { coordinates } = mesh(atlas, atlas.objects.countries, (a, b) => a !== b)
  const lines = coordinates.flatMap((line) => splitLine(line as Ring))
  return collection(lines.map((line) => ({ type: 'LineString', coordinates: line })))
}

/** Returns the names of the countries, the largest first. */
export function countryNames(atlas: WorldAtlas): CountryName[] {
  const countries = feature(atlas, atlas.objects.countries).features.map(({ properties: { name }, geometry }) => {
    const rings = polygonsOf(geometry).flatMap(([outer]) => (outer ? [{ outer, areaKm2: areaKm2(outer) }] : []))
    const totalKm2 = rings.reduce((sum, ring) => sum + ring.areaKm2, 0)
    const largest = rings.sort((a, b) => b.areaKm2 - a.areaKm2)[0]
    return { name, totalKm2, place: largest ? placeInside(largest.outer) : undefined }
  })
  return countries
    .sort((a, b) => b.totalKm2 - a.totalKm2)
    .flatMap(({ name, totalKm2, place }, order) => {
      if (!place) return []
      const [x, y] = worldPoint(place[1], place[0])
      const minZoom = zoomsByArea.find(([least]) => totalKm2 >= least)?.[1] ?? smallestZoom
      return [{ name, x: (x + 1) % 1, y, minZoom, order }]
    })
}

const collection = <G extends Polygon | LineString>(geometries: G[]): FeatureCollection<G> => ({
  type: 'FeatureCollection',
  features: geometries.map((geometry): Feature<G> => ({ type: 'Feature', properties: {}, geometry })),
})

/** The polygons of a geometry, each with its outer ring and its holes. */
function polygonsOf(geometry: Feature['geometry']): Ring[][] {
  if (geometry.type === 'Polygon') return [(geometry as Polygon).coordinates.map(flat)]
  if (geometry.type === 'MultiPolygon') return (geometry as MultiPolygon).coordinates.map((rings) => rings.map(flat))
  return []
}

/** Extends rings that cross the date line beyond 180°. */
const flat = (ring: Position[]): Ring =>
  legsOf(ring as Ring).some(([[from], [to]]) => Math.abs(to - from) > 180)
    ? unwrapRing(ring as Ring).map(([lon, lat]) => [lon, lat])
    : (ring as Ring)

/** The sides of a ring. */
function* legsOf(ring: Ring): Generator<[from: Ring[number], to: Ring[number]]> {
  for (let index = 1; index < ring.length; index++) {
    const [from, to] = [ring[index - 1], ring[index]]
    if (from && to) yield [from, to]
  }
}

/** The area within a ring on the globe in km². */
export function areaKm2(ring: Ring): number {
  let sum = 0
  for (const [[lon1, lat1], [lon2, lat2]] of legsOf(ring))
    sum += (lon2 - lon1) * radians * (2 + Math.sin(lat1 * radians) + Math.sin(lat2 * radians))
  return Math.abs((sum * (earthRadiusM / 1_000) ** 2) / 2)
}

/** A place inside a ring: the middle of its widest part at the latitude of its centre of gravity. */
export function placeInside(ring: Ring): [lon: number, lat: number] {
  const lat = centreLat(ring)
  const crossings = legsOf(ring)
    .filter(([[, lat1], [, lat2]]) => lat1 > lat !== lat2 > lat)
    .map(([[lon1, lat1], [lon2, lat2]]) => lon1 + ((lat - lat1) / (lat2 - lat1)) * (lon2 - lon1))
    .toArray()
    .sort((a, b) => a - b)
  let widest: [from: number, to: number] = [ring[0]?.[0] ?? 0, ring[0]?.[0] ?? 0]
  for (let index = 0; index + 1 < crossings.length; index += 2) {
    const [from = 0, to = 0] = crossings.slice(index, index + 2)
    if (to - from > widest[1] - widest[0]) widest = [from, to]
  }
  return [(widest[0] + widest[1]) / 2, lat]
}

function centreLat(ring: Ring): number {
  let [moment, area] = [0, 0]
  for (const [[lon1, lat1], [lon2, lat2]] of legsOf(ring)) {
    const part = lon1 * lat2 - lon2 * lat1
    moment += part * (lat1 + lat2)
    area += 3 * part
  }
  return area === 0 ? (ring[0]?.[1] ?? 0) : moment / area
}
