import type { Map as MapLibre, MapMouseEvent } from 'maplibre-gl'
import type { DrawnCluster } from './cluster-extent.ts'
import { shownBounds } from './open-map.ts'
import { clickedPlace } from './place-click.ts'
import { placeLayers } from './style.ts'
import type { AreaShape, SurfaceEvents } from './surface.ts'

type ClickOptions = {
  events: SurfaceEvents
  places: () => readonly AreaShape[]
  /** The layers of coverage cells that are drawn. */
  cellLayers: () => string[]
  onCluster: (cluster: DrawnCluster) => void
}

const aroundPx = 6
const deviceLayer = 'devices'
const pointed = [deviceLayer, 'clusters', ...placeLayers]

/** Turns clicks on the map into events, and shows what the pointer can open. */
export function listenForClicks(map: MapLibre, { events, places, cellLayers, onCluster }: ClickOptions) {
  let drawing = false
  const setCursor = (cursor: string) => {
    map.getCanvas().style.cursor = drawing ? 'crosshair' : cursor
  }
  const select = ({ point: { x, y } }: MapMouseEvent) => {
    // While another background replaces the layers, there is nothing to point at.
    if (!map.getLayer(deviceLayer)) return
    const found = map.queryRenderedFeatures(
      [
        [x - aroundPx, y - aroundPx],
        [x + aroundPx, y + aroundPx],
      ],
      { layers: [...pointed, ...cellLayers()] },
    )
    const of = (layer: string) => found.find((feature) => feature.layer.id.startsWith(layer))
    const device = of(deviceLayer)
    const cluster = of('clusters')
    const hex = of('hexes')
    const under = new Set(found.map(({ properties }) => properties.placeId))
    const place = clickedPlace(
      places().filter(({ id }) => under.has(id)),
      shownBounds(map),
    )
    if (device) events.onSelectDevice(String(device.properties.id))
    else if (cluster) onCluster(clusterOf(cluster))
    else if (place) events.onSelectPlace(place)
    else if (hex) events.onSelectCell(String(hex.properties.h3))
    else events.onSelectDevice(null)
  }
  map.on('click', (event) => {
    if (!drawing) return select(event)
    const { lng, lat } = event.lngLat.wrap()
    events.onPoint(lng, lat)
  })
  map.on('dblclick', () => {
    if (drawing) events.onFinish()
  })
  map.on('mousemove', pointed, ({ features = [] }) => {
    const opens = features.some(({ properties: { id, count, placeId } }) => id ?? count ?? placeId)
    setCursor(opens ? 'pointer' : '')
  })
  map.on('mouseleave', pointed, () => setCursor(''))
  return {
    /** While a route or an area is being drawn, clicks add points and a double click does not zoom. */
    setDrawing(on: boolean): void {
      drawing = on
      setCursor('')
      if (on) map.doubleClickZoom.disable()
      else map.doubleClickZoom.enable()
    },
  }
}

/** The cluster of a rendered feature. */
function clusterOf({ geometry, properties }: GeoJSON.Feature): DrawnCluster {
  const [lon = 0, lat = 0] = geometry.type === 'Point' ? geometry.coordinates : []
  const { west = lon, south = lat, east = lon, north = lat } = properties ?? {}
  return { lon, lat, bounds: [west, south, east, north] }
}
