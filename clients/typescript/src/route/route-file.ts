import { counted } from './counted.ts'
import { fileText } from './file-text.ts'
import { readGeoJsonLines } from './geojson.ts'
import { readGpx } from './gpx.ts'
import { type Position, RouteFileError } from './position.ts'

/** The lines of a route, with gaps between them, and sentences about what was left out of the file. */
type RouteFile = { lines: Position[][]; notes: string[] }

/** The service's limit for a route. */
const maxPoints = 5_000

/**
 * Reads a route from the bytes of a GPX or GeoJSON file. Each track segment, route or line is a line of its own. Throws a
 * RouteFileError with the reason and its place if the file has no route or an invalid position.
 */
export function readRouteFile(bytes: Uint8Array): RouteFile {
  const text = fileText(bytes)
  const found = text.startsWith('<') ? readGpx(text) : readGeoJsonLines(text)
  const moving = found.lines.map(withoutRepeats)
  const lines = moving.filter(({ length }) => length > 1)
  const short = moving.length - lines.length
  const skipped = [...found.skipped, ...(short > 0 ? [`${counted(short, 'line')} without two different points`] : [])]
  if (lines.length === 0) throw noRoute(text, skipped)
  const thinned = thin(lines)
  const notes = [...(skipped.length > 0 ? [`Skipped: ${skipped.join(', ')}.`] : []), ...thinned.notes]
  return { lines: thinned.lines, notes }
}

function noRoute(text: string, skipped: string[]): RouteFileError {
  const isXml = text.startsWith('<')
  const missing = isXml ? 'track or route' : 'LineString or MultiLineString'
  const only = skipped.length > 0 ? `, only ${skipped.join(', ')}` : ''
  const remedy = isXml ? 'Save the route as a track or a route.' : 'Save the route as a line.'
  return new RouteFileError(`The file has no ${missing} with at least two points${only}. ${remedy}`)
}

const withoutRepeats = (line: Position[]): Position[] =>
  line.filter(([lon, lat], index) => {
    const before = line[index - 1]
    return before?.[0] !== lon || before[1] !== lat
  })

/** Takes every n-th point of each line, and its last one, if there are more points than the service reads. */
function thin(lines: Position[][]): RouteFile {
  const count = (step: number) => lines.reduce((sum, { length }) => sum + Math.ceil((length - 1) / step) + 1, 0)
  const points = count(1)
  if (points <= maxPoints) return { lines, notes: [] }
  if (lines.length * 2 > maxPoints) {
    throw new RouteFileError(`The file has ${counted(lines.length, 'line')}. The limit is ${maxPoints / 2}.`)
  }
  let step = 2
  while (count(step) > maxPoints) step = Math.ceil(step * 1.1)
  const kept = lines.map((line) => line.filter((_, index) => index % step === 0 || index === line.length - 1))
  const limit = counted(maxPoints, 'point')
  return {
    lines: kept,
    notes: [
      `The file has ${counted(points, 'point')}, and a route at most ${limit}. ${counted(count(step), 'point')} were used: one in ${step}.`,
    ],
  }
}
