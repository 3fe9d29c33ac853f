import { counted } from './counted.ts'
import { convert } from './file-text.ts'
import { type FoundLines, type Position, positionOf, RouteFileError } from './position.ts'
import { lineAt, type XmlElement, xmlAttribute, xmlElements } from './xml-elements.ts'

/**
 * Reads the segments of the tracks in a GPX document of any version, or its routes if no track moves. Throws a
 * RouteFileError for other XML.
 */
export function readGpx(text: string): FoundLines {
  const segments: Position[][] = []
  const routes: Position[][] = []
  let [tracks, segmentsOfTrack, waypoints] = [0, 0, 0]
  for (const element of xmlElements(text)) {
    switch (element.path) {
      case '/gpx/trk':
        tracks++
        segmentsOfTrack = 0
        break
      case '/gpx/trk/trkseg':
        segmentsOfTrack++
        segments.push([])
        break
      case '/gpx/trk/trkseg/trkpt':
        addPoint(text, element, segments, `segment ${segmentsOfTrack} of track ${tracks}`)
        break
      case '/gpx/rte':
        routes.push([])
        break
      case '/gpx/rte/rtept':
        addPoint(text, element, routes, `route ${routes.length}`)
        break
      case '/gpx/wpt':
        waypoints++
        break
      default:
        if (!element.path.startsWith('/gpx')) throw notGpx(element)
    }
  }
  const hasTrack = segments.some(isMoving)
  const skipped = [
    ...(waypoints > 0 ? [counted(waypoints, 'waypoint')] : []),
    ...(hasTrack && routes.length > 0 ? [`${counted(routes.length, 'route')} beside the tracks`] : []),
  ]
  return { lines: hasTrack ? segments : [...segments, ...routes], skipped }
}

/** Whether a line has two different points. */
const isMoving = ([first, ...others]: readonly Position[]): boolean =>
  others.some(([lon, lat]) => first?.[0] !== lon || first[1] !== lat)

function addPoint(text: string, { attributes, at }: XmlElement, lines: Position[][], line: string): void {
  const points = lines.at(-1)
  const place = () => `Point ${(points?.length ?? 0) + 1} of ${line}, in line ${lineAt(text, at)} of the file,`
  const value = (name: string) => numberOf(xmlAttribute(attributes, name))
  points?.push(positionOf(value('lon'), value('lat'), place))
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/** Returns the number in a text, or the text if it is none. */
function numberOf(text: string | undefined): number | string | undefined {
  const trimmed = text?.trim()
  return trimmed !== undefined && decimal.test(trimmed) ? Number(trimmed) : trimmed
}

function notGpx({ path }: XmlElement): RouteFileError {
  const root = path.split('/')[1]
  return new RouteFileError(
    `${root === 'kml' ? 'The file is KML' : `The file has a <${root}> element`}, not GPX. ${convert}`,
  )
}
