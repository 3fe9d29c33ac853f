import type { Feature, FeatureCollection, Geometry, MultiPolygon, Polygon, Position } from 'geojson'
import { feature } from 'topojson-client'
import type { GeometryCollection, Topology } from 'topojson-specification'
import world from 'world-atlas/countries-110m.json' with { type: 'json' }
import { unwrapRing } from '#telemetry/geo/antimeridian'

type Country = Feature<Geometry, { name: string }>

const topology = world as unknown as Topology<{ countries: GeometryCollection<{ name: string }> }>

/** Country outlines at 1:110 million (Natural Earth, public domain), shipped with the page. */
export const countries: FeatureCollection<Geometry, { name: string }> = {
  type: 'FeatureCollection',
  features: feature(topology, topology.objects.countries).features.map((country) => ({
    ...country,
    geometry: flat(country.geometry),
  })),
}

/** Extends rings that cross the date line beyond 180°, because a flat map would draw them around the world. */
function flat(geometry: Geometry): Geometry {
  if (geometry.type === 'Polygon') return { ...geometry, coordinates: geometry.coordinates.map(unwrapped) }
  if (geometry.type === 'MultiPolygon')
    return { ...geometry, coordinates: geometry.coordinates.map((polygon) => polygon.map(unwrapped)) }
  return geometry
}

function unwrapped(ring: Position[]): Position[] {
  return unwrapRing(ring as [number, number][])
}

const rings = (geometry: Geometry): Position[][] =>
  geometry.type === 'Polygon'
    ? [(geometry as Polygon).coordinates[0] ?? []]
    : geometry.type === 'MultiPolygon'
      ? (geometry as MultiPolygon).coordinates.map(([outer]) => outer ?? [])
      : []

function ringArea(ring: Position[]): number {
  let area = 0
  for (let index = 1; index < ring.length; index++) {
    const [x1 = 0, y1 = 0] = ring[index - 1] ?? []
    const [x2 = 0, y2 = 0] = ring[index] ?? []
    area += x1 * y2 - x2 * y1
  }
  return Math.abs(area / 2)
}

/** The position of each country's name: the centre of its largest part. Larger countries come first. */
export const countryLabels: { name: string; lon: number; lat: number; area: number }[] = countries.features
  .map((country: Country) => {
    const ring = rings(country.geometry).sort((a, b) => ringArea(b) - ringArea(a))[0] ?? []
    const sum = ring.reduce<[number, number]>(([x, y], [lon = 0, lat = 0]) => [x + lon, y + lat], [0, 0])
    return {
      name: country.properties.name,
      lon: sum[0] / (ring.length || 1),
      lat: sum[1] / (ring.length || 1),
      area: ringArea(ring),
    }
  })
  .sort((a, b) => b.area - a.area)
