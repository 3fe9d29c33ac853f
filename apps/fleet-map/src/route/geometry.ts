import { unwrapLine } from '#telemetry/geo/antimeridian'
import { distanceM as distanceBetweenM } from '#telemetry/geo/geo'

export type LonLat = [lon: number, lat: number]

const distanceM = ([lon, lat]: LonLat, [otherLon, otherLat]: LonLat): number =>
  distanceBetweenM({ lat, lon }, { lat: otherLat, lon: otherLon })

const lengthOf = (path: readonly LonLat[]): number =>
  path.reduce((sum, here, index) => sum + (index === 0 ? 0 : distanceM(path[index - 1] ?? here, here)), 0)

/** Returns the length of a route in metres, without the gaps between its lines. */
export const routeLengthM = (lines: readonly LonLat[][]): number => lines.reduce((sum, line) => sum + lengthOf(line), 0)

/**
 * Returns a function that cuts a route between two distances from its start, which are in the same line. Distances must not
 * decrease between calls. The longitudes of all pieces continue beyond ±180°.
 */
export function routeCutter(lines: readonly LonLat[][]): (fromM: number, toM: number) => LonLat[] {
  const positions = unwrapLine(lines.flat()).map(([lon, lat]): LonLat => [lon, lat])
  let endM = 0
  const cutters = lines.map((line) => {
    const startM = endM
    endM += lengthOf(line)
    return { startM, endM, cut: pathCutter(positions.splice(0, line.length)) }
  })
  let index = 0
  return (fromM, toM) => {
    const middleM = (fromM + toM) / 2
    while (index < cutters.length - 1 && (cutters[index]?.endM ?? 0) <= middleM) index++
    const { startM = 0, cut } = cutters[index] ?? {}
    return cut?.(fromM - startM, toM - startM) ?? []
  }
}

/** Returns a function that cuts a path between two distances from its start. Distances must not decrease between calls. */
function pathCutter(path: readonly LonLat[]): (fromM: number, toM: number) => LonLat[] {
  let leg = 1
  let startM = 0
  const legM = () => {
    const [a, b] = [path[leg - 1], path[leg]]
    return a && b ? distanceM(a, b) : 0
  }
  const seek = (alongM: number): LonLat => {
    const [a = [0, 0], b = a] = [path[leg - 1], path[leg]] as [LonLat, LonLat]
    const length = legM()
    const fraction = length === 0 ? 0 : Math.min(1, Math.max(0, (alongM - startM) / length))
    return [a[0] + (b[0] - a[0]) * fraction, a[1] + (b[1] - a[1]) * fraction]
  }
  return (fromM, toM) => {
    while (leg < path.length - 1 && startM + legM() <= fromM) {
      startM += legM()
      leg++
    }
    const cut = [seek(fromM)]
    while (leg < path.length - 1 && startM + legM() < toM) {
      startM += legM()
      leg++
      const corner = path[leg - 1]
      if (corner) cut.push(corner)
    }
    cut.push(seek(toM))
    return cut
  }
}

/** Formats metres as "850 m", "12.4 km" or "310 km". */
export function kilometres(metres: number): string {
  if (metres < 995) return `${Math.round(metres)} m`
  return `${(metres / 1_000).toFixed(metres < 99_500 ? 1 : 0)} km`
}
