import type { Feature, FeatureCollection, Point, Polygon } from 'geojson'
import type { FleetDevice } from '../api/schemas.ts'
import { plural } from '../components/format.ts'
import type { DrawnRoute } from '../route/drawn.ts'
import { middleOf } from './area-shape.ts'
import { iconName } from './icons.ts'
import { colorOf, noServiceColor } from './palette.ts'
import { type AreaShape, type Bounds, type Stop, shapeOf, type TrailPoint } from './surface.ts'

const point = <Props>(lon: number, lat: number, properties: Props): Feature<Point, Props> => ({
  type: 'Feature',
  properties,
  geometry: { type: 'Point', coordinates: [lon, lat] },
})

export const collection = <F extends Feature>(features: F[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features,
})

export function deviceFeature(device: FleetDevice, selected: boolean, nowMs: number) {
  const shape = shapeOf(device, nowMs)
  const quality = device.signal?.rat === 'none' ? 'none' : (device.signal?.quality ?? null)
  return point(device.location?.lon ?? 0, device.location?.lat ?? 0, {
    ...{ id: device.deviceId, name: device.name, quality },
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

/** The last point of the trail, with a circle as large as its position is uncertain. */
export function trailHead(points: readonly TrailPoint[]): Feature<Point>[] {
  const head = points.at(-1)
  if (!head) return []
  const color = head.noService ? noServiceColor : colorOf(head.quality)
  return [point(head.lon, head.lat, { color, radius: Math.min(60, 6 + (head.alignErrorM ?? 0) / 4) })]
}

/** Where a device stood. */
export const stopFeatures = (stops: readonly Stop[]): Feature<Point>[] =>
  stops.map(({ lat, lon, label }) => point(lon, lat, { label }))

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
