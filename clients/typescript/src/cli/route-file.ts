import { CommandError, exitCodes } from './exit-codes.ts'

/** Longitude and latitude in degrees. */
export type Position = [lon: number, lat: number]

/** The positions of a GPX track or route, or of the first LineString in GeoJSON. Throws for other content. */
export function readRoute(text: string): Position[] {
  const positions = text.trimStart().startsWith('{') ? fromGeoJson(text) : fromGpx(text)
  if (positions.length >= 2) return positions
  throw new CommandError('The file has no route: send a GPX track or route, or a GeoJSON LineString.', exitCodes.usage)
}

/** The points of the tracks, or of the routes if there are no tracks. */
function fromGpx(text: string): Position[] {
  const points = (name: string) =>
    [...text.matchAll(new RegExp(`<${name}\\s([^>]*)>`, 'g'))].map(
      ([, attributes = '']): Position => [attribute(attributes, 'lon'), attribute(attributes, 'lat')],
    )
  const tracks = points('trkpt')
  return tracks.length > 0 ? tracks : points('rtept')
}

function attribute(attributes: string, name: string): number {
  const value = Number(new RegExp(`\\b${name}\\s*=\\s*["']([^"']*)["']`).exec(attributes)?.[1] ?? Number.NaN)
  if (Number.isFinite(value)) return value
  throw new CommandError(`A point of the route has no valid ${name}.`, exitCodes.usage)
}

type GeoJson = { type?: string; coordinates?: Position[]; geometry?: GeoJson; features?: GeoJson[] }

function fromGeoJson(text: string): Position[] {
  let parsed: GeoJson
  try {
    parsed = JSON.parse(text) as GeoJson
  } catch {
    throw new CommandError('The file is neither GPX nor JSON.', exitCodes.usage)
  }
  const parts = [parsed, parsed.geometry, ...(parsed.features ?? []).map(({ geometry }) => geometry)]
  const line = parts.find((part) => part?.type === 'LineString')
  return (line?.coordinates ?? []).map(([lon, lat]): Position => [lon, lat])
}
