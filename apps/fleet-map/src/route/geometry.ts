export type LonLat = [lon: number, lat: number]

const earthRadiusM = 6_371_008.8
const radians = Math.PI / 180

/** Returns the metres between two positions on the sphere (haversine), like the service. */
function distanceM([lonA, latA]: LonLat, [lonB, latB]: LonLat): number {
  const sinLat = Math.sin(((latB - latA) * radians) / 2)
  const sinLon = Math.sin(((lonB - lonA) * radians) / 2)
  const chord = sinLat * sinLat + Math.cos(latA * radians) * Math.cos(latB * radians) * sinLon * sinLon
  return 2 * earthRadiusM * Math.asin(Math.min(1, Math.sqrt(chord)))
}

export const lengthOf = (path: readonly LonLat[]): number =>
  path.reduce((sum, here, index) => sum + (index === 0 ? 0 : distanceM(path[index - 1] ?? here, here)), 0)

/** Returns a function that cuts a path between two distances from its start. Distances must not decrease between calls. */
export function pathCutter(path: readonly LonLat[]): (fromM: number, toM: number) => LonLat[] {
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
    // A leg that crosses the 180th meridian takes the short way; the map draws beyond 180°.
    const turn = b[0] - a[0] > 180 ? -360 : b[0] - a[0] < -180 ? 360 : 0
    return [a[0] + (b[0] + turn - a[0]) * fraction, a[1] + (b[1] - a[1]) * fraction]
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
