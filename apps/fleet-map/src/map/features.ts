import type { Feature, FeatureCollection, LineString, Point, Polygon } from 'geojson'
import type { MapDevice } from '../api/types.ts'
import { plural } from '../components/format.ts'
import type { DrawnRoute } from '../route/drawn.ts'
import { middleOf } from './area-shape.ts'
import { iconName } from './icons.ts'
import { colorOf, noServiceColor } from './palette.ts'
import { type AreaShape, type Bounds, shapeOf, type TrailPoint } from './surface.ts'

const point = <Props>(lon: number, lat: number, properties: Props): Feature<Point, Props> => ({
  type: 'Feature',
  properties,
  geometry: { type: 'Point', coordinates: [lon, lat] },
})

export const collection = <F extends Feature>(features: F[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features,
})

export function deviceFeature(device: MapDevice, selected: boolean, nowMs: number) {
  const shape = shapeOf(device, nowMs)
  const quality = device.signal?.rat === 'none' ? 'none' : (device.signal?.quality ?? null)
  return point(device.location?.lon ?? 0, device.location?.lat ?? 0, {
    id: device.deviceId,
    icon: iconName(shape, quality),
    heading: shape === 'moving' ? (device.location?.headingDeg ?? 0) : 0,
    faded: shape === 'silent',
    status: device.status,
    selected,
  })
}

/** Returns the number of devices that device and cluster features show in a view, as "1 device". */
export function devicesInView(features: readonly Feature[], [west, south, east, north]: Bounds): string {
  let devices = 0
  for (const { geometry, properties } of features) {
    if (geometry.type !== 'Point') continue
    const [lon = 0, lat = 0] = geometry.coordinates
    // A view can show the world more than once.
    const isVisible =
      lat >= south && lat <= north && [-360, 0, 360].some((turn) => lon + turn >= west && lon + turn <= east)
    if (isVisible) devices += Number(properties?.count ?? 1)
  }
  return plural(devices, 'device')
}

const breakAfterMs = 15 * 60_000

/**
 * The trail as lines coloured by the signal at their end. Lines are dashed where there was no service or where the
 * position is held. More than 15 minutes of silence leave a gap, because the path is unknown.
 */
export function trailFeatures(points: readonly TrailPoint[]): Feature<LineString>[] {
  const lines: Feature<LineString>[] = []
  let open: { color: string; dashed: boolean; coordinates: [number, number][] } | undefined
  const close = () => {
    if (open && open.coordinates.length > 1)
      lines.push({
        type: 'Feature',
        properties: { color: open.color, dashed: open.dashed },
        geometry: { type: 'LineString', coordinates: open.coordinates },
      })
    open = undefined
  }
  let before: TrailPoint | undefined
  for (const here of points) {
    if (!before || here.ts - before.ts > breakAfterMs) {
      close()
      before = here
      continue
    }
    const color = here.noService ? noServiceColor : colorOf(here.quality)
    const dashed = here.noService || here.alignment === 'held'
    if (!open || open.color !== color || open.dashed !== dashed) {
      close()
      open = { color, dashed, coordinates: [[before.lon, before.lat]] }
    }
    open.coordinates.push([here.lon, here.lat])
    before = here
  }
  close()
  return lines
}

/** The lines of a route by look: `known` is solid, `dead` dashed, `unknown` (also the draft) dotted. */
export function routeFeatures({ stretches, draft }: DrawnRoute): Feature<LineString>[] {
  const line = (coordinates: [number, number][], color: string, look: string): Feature<LineString> => ({
    type: 'Feature',
    properties: { color, look },
    geometry: { type: 'LineString', coordinates },
  })
  const lines = stretches.map(({ path, quality, dead, known }) =>
    line(path, dead ? colorOf('none') : colorOf(quality), dead ? 'dead' : known ? 'known' : 'unknown'),
  )
  return draft.length > 1 ? [...lines, line(draft, noServiceColor, 'unknown')] : lines
}

/** The points of a route that is being drawn, and the numbers of its dead zones. */
export const routePoints = ({ draft, marks }: DrawnRoute) => [
  ...draft.map(([lon, lat]) => point(lon, lat, { label: '' })),
  ...marks.map(({ at: [lon, lat], label }) => point(lon, lat, { label })),
]

/** The outlines of places. */
export const areaFeatures = (areas: readonly AreaShape[]): Feature<Polygon>[] =>
  areas.map(({ ring, selected, id }) => ({
    type: 'Feature',
    properties: { selected, placeId: id ?? null },
    geometry: { type: 'Polygon', coordinates: [ring] },
  }))

/** The names of places. */
export const areaNames = (areas: readonly AreaShape[]): Feature<Point>[] =>
  areas.flatMap(({ ring, name, id }) => (name ? [point(...middleOf(ring), { name, placeId: id ?? null })] : []))
