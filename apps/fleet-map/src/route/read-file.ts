import type { LonLat } from './geometry.ts'

/** A path from a file, and the number of points in the file. */
export type FileRoute = { path: LonLat[]; pointsInFile: number }

const maxBytes = 10_000_000
/** The service's limit for a path. */
const maxPoints = 5_000

/** Reads the path in a GPX or GeoJSON file. Throws an Error with the reason if the file is invalid. */
export async function readRouteFile(file: File): Promise<FileRoute> {
  if (file.size > maxBytes) {
    throw new Error(`${file.name} is too large (${(file.size / 1e6).toFixed(0)} MB). The limit is 10 MB.`)
  }
  const text = (await file.text()).trim()
  const found = text.startsWith('<') ? gpxPath(text) : geoJsonPath(text)
  const path = found.filter((here, index) => {
    const before = found[index - 1]
    return !before || before[0] !== here[0] || before[1] !== here[1]
  })
  if (path.length < 2) throw new Error(`${file.name} contains no path with at least two points.`)
  return { path: thinned(path), pointsInFile: found.length }
}

/** Returns the track points of a GPX document, or its route points when it has no track. */
function gpxPath(text: string): LonLat[] {
  const document = new DOMParser().parseFromString(text, 'application/xml')
  if (document.querySelector('parsererror')) throw new Error('The file is not valid XML.')
  if (document.documentElement.localName !== 'gpx') throw new Error('The file is XML but not GPX.')
  const named = (name: string) => [...document.getElementsByTagNameNS('*', name)]
  const points = named('trkpt')
  return (points.length > 0 ? points : named('rtept')).map((point) =>
    position([Number(point.getAttribute('lon') ?? Number.NaN), Number(point.getAttribute('lat') ?? Number.NaN)]),
  )
}

function geoJsonPath(text: string): LonLat[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new Error('The file is neither GPX nor GeoJSON.')
  }
  const line = firstLine(parsed)
  if (!line) throw new Error('The GeoJSON file contains no LineString.')
  return line.map(position)
}

/** Returns the coordinates of the first line in a GeoJSON value. Joins the parts of a MultiLineString. */
function firstLine(value: unknown): unknown[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { type, coordinates, geometry, features, geometries } = value as Record<string, unknown>
  if (type === 'LineString' && Array.isArray(coordinates)) return coordinates
  if (type === 'MultiLineString' && Array.isArray(coordinates)) return coordinates.flat(1)
  if (type === 'Feature') return firstLine(geometry)
  for (const list of [features, geometries]) {
    if (!Array.isArray(list)) continue
    for (const one of list) {
      const line = firstLine(one)
      if (line) return line
    }
  }
  return undefined
}

function position(value: unknown): LonLat {
  const [lon, lat] = Array.isArray(value) ? value : []
  if (typeof lon !== 'number' || typeof lat !== 'number' || !(Math.abs(lon) <= 180) || !(Math.abs(lat) <= 90)) {
    throw new Error('The file contains an invalid position. Longitude and latitude must be in degrees.')
  }
  return [lon, lat]
}

/** Reduces a path to the service's limit: every n-th point, and always the last one. */
function thinned(path: LonLat[]): LonLat[] {
  if (path.length <= maxPoints) return path
  const step = Math.ceil((path.length - 1) / (maxPoints - 1))
  const kept = path.filter((_, index) => index % step === 0)
  const last = path.at(-1)
  return last && kept.at(-1) !== last ? [...kept, last] : kept
}
