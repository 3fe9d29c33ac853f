import {
  type GeoJSONSource,
  Map as MapLibre,
  type MapMouseEvent,
  NavigationControl,
  ScaleControl,
  setWorkerUrl,
} from 'maplibre-gl'
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url'
import { accessHeaders } from '../api/client.ts'
import type { MapDevice } from '../api/types.ts'
import { openAreaTiles } from './area-tiles.ts'
import type { Background } from './background/background.ts'
import { backgroundSettings } from './background/background-settings.ts'
import type { DrawnCluster } from './cluster-extent.ts'
import { openDeviceTiles } from './device-tiles.ts'
import type { DeviceTilesAnswer } from './device-tiles.worker.ts'
import { markDrawn } from './drawn.ts'
import {
  areaFeatures,
  areaNames,
  collection,
  deviceFeature,
  devicesInView,
  routeFeatures,
  routePoints,
  trailFeatures,
} from './features.ts'
import { openHexes } from './hexes.ts'
import { iconPixelRatio, labelImage, markerImages } from './icons.ts'
import { mapRequest } from './map-request.ts'
import { countries, countryLabels } from './outlines.ts'
import { colorOf, noServiceColor } from './palette.ts'
import { clickedPlace } from './place-click.ts'
import { ringImage } from './ring.ts'
import { satelliteControl } from './satellite-control.tsx'
import { lowestLayerAboveAreas, mapStyle, placeLayers, readTheme } from './style.ts'
import { type AreaShape, type Bounds, offsetInto, type Surface, type SurfaceEvents, type View } from './surface.ts'

setWorkerUrl(workerUrl)

const flightMs = 700

/** The cluster of a rendered feature. */
function clusterOf({ geometry, properties }: GeoJSON.Feature): DrawnCluster {
  const [lon = 0, lat = 0] = geometry.type === 'Point' ? geometry.coordinates : []
  const { west = lon, south = lat, east = lon, north = lat } = properties ?? {}
  return { lon, lat, bounds: [west, south, east, north] }
}

/** Draws the map with MapLibre GL. Throws in browsers without WebGL2. */
export function createWebglSurface(container: HTMLElement, view: View, events: SurfaceEvents): Surface {
  const map = new MapLibre({
    container,
    style: mapStyle(readTheme(), countries, null),
    center: [view.lon, view.lat],
    zoom: view.zoom,
    attributionControl: { compact: false },
    dragRotate: false,
    pitchWithRotate: false,
    maxPitch: 0,
    fadeDuration: 0,
    renderWorldCopies: true,
    transformRequest: (url) => mapRequest(url, document.baseURI, accessHeaders()),
  })
  map.touchZoomRotate.disableRotation()
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right')
  if (backgroundSettings.satellite) map.addControl(satelliteControl(), 'top-right')
  map.addControl(new ScaleControl({ unit: 'metric' }), 'bottom-right')

  /** Devices that are drawn beside those of the tiles. */
  let devices: readonly MapDevice[] = []
  let selectedId: string | null = null
  let fromTiles: DeviceTilesAnswer = { url: null, devices: [], clusters: [] }
  // The data of each source, restored after a theme change replaces the style.
  const held: Record<string, GeoJSON.FeatureCollection> = {}

  const put = (source: string, data: GeoJSON.FeatureCollection) => {
    held[source] = data
    ;(map.getSource(source) as GeoJSONSource | undefined)?.setData(data)
  }

  let background: Background | null = null
  const areas = openAreaTiles(map, () => lowestLayerAboveAreas(background))
  const zone = openHexes((features) => put('zone', collection(features)))
  let places: readonly AreaShape[] = []
  let drawing = false

  const addImages = () => {
    const theme = readTheme()
    for (const [name, image] of markerImages(theme))
      if (!map.hasImage(name)) map.addImage(name, image, { pixelRatio: iconPixelRatio })
    const names = countryLabels.map(({ name, lon, lat }, order) => {
      const image = `name-${name}`
      if (!map.hasImage(image))
        map.addImage(image, labelImage(name, theme.label, theme.land), { pixelRatio: iconPixelRatio })
      return {
        type: 'Feature' as const,
        properties: { image, order },
        geometry: { type: 'Point' as const, coordinates: [lon, lat] },
      }
    })
    put('country-names', collection(names))
  }

  const restyle = () => {
    areas.suspend()
    map.setStyle(mapStyle(readTheme(), countries, background), { diff: false })
  }

  const bounds = (): Bounds => {
    const box = map.getBounds()
    return [box.getWest(), box.getSouth(), box.getEast(), box.getNorth()]
  }

  /** Tells screen readers how many devices the view shows. */
  const describeView = () => {
    const { url, devices: single, clusters } = fromTiles
    // The selected device may also be in a cluster.
    const features = url === null ? (held.devices?.features ?? []) : [...single, ...clusters]
    map.getCanvas().setAttribute('aria-label', `Map, ${devicesInView(features, bounds())} in view`)
  }
  const drawDevices = () => {
    const nowMs = Date.now()
    const drawnAlone = new Set(devices.map(({ deviceId }) => deviceId))
    const others = fromTiles.devices.filter(({ properties }) => !drawnAlone.has(properties?.id))
    const found = devices.filter(({ location }) => location !== null)
    // The selected device is always drawn on top, even inside a cluster.
    const sorted = found.toSorted((a, b) => Number(a.deviceId === selectedId) - Number(b.deviceId === selectedId))
    put('clusters', collection(fromTiles.clusters))
    put(
      'devices',
      collection([...others, ...sorted.map((device) => deviceFeature(device, device.deviceId === selectedId, nowMs))]),
    )
    describeView()
  }
  const tiles = openDeviceTiles({
    onAnswer: (answer) => {
      fromTiles = answer
      drawDevices()
    },
    onExtent: events.onSelectCluster,
  })
  const lookAtView = () => tiles.look(bounds(), map.getZoom())

  map.setMissingStyleImageResolver((id) => {
    const image = ringImage(id, readTheme().outline, iconPixelRatio)
    if (image) map.addImage(id, image, { pixelRatio: iconPixelRatio })
  })
  map.on('style.load', () => {
    addImages()
    for (const [source, data] of Object.entries(held)) put(source, data)
    areas.restore()
    lookAtView()
  })
  // While the style is replaced, it has no sources.
  const isDrawn = (source: string) =>
    (held[source]?.features.length ?? 0) > 0 && map.getSource(source) !== undefined && map.isSourceLoaded(source)
  map.on('render', () => {
    if (isDrawn('devices') || isDrawn('clusters')) markDrawn('devices')
  })
  let isMovedByReader = false
  // MapLibre names the event of each movement by the reader, except of those with the wheel.
  map.on('movestart', ({ originalEvent }) => {
    isMovedByReader = originalEvent !== undefined || map.scrollZoom.isActive()
  })
  map.on('moveend', () => {
    lookAtView()
    describeView()
    const { lng, lat } = map.getCenter()
    events.onMove({ lon: lng, lat, zoom: map.getZoom() }, bounds(), isMovedByReader)
  })
  map.on('zoom', () => {
    if (map.isZooming()) lookAtView()
  })
  map.on('error', ({ error }) => {
    // The page shows elsewhere that the service refuses requests or is unreachable.
    if (!('status' in error)) console.error(error)
  })

  map.on('dblclick', () => {
    if (drawing) events.onFinish()
  })
  map.on('click', (event: MapMouseEvent) => {
    if (drawing) {
      const { lng, lat } = event.lngLat.wrap()
      events.onPoint(lng, lat)
      return
    }
    const around = 6
    const { x, y } = event.point
    const found = map.queryRenderedFeatures(
      [
        [x - around, y - around],
        [x + around, y + around],
      ],
      { layers: ['devices', 'clusters', ...placeLayers, ...areas.layers()] },
    )
    const of = (layer: string) => found.find((feature) => feature.layer.id.startsWith(layer))
    const device = of('devices')
    const cluster = of('clusters')
    const hex = of('hexes')
    const under = new Set(found.map(({ properties }) => properties.placeId))
    const place = clickedPlace(
      places.filter(({ id }) => under.has(id)),
      bounds(),
    )
    if (device) events.onSelectDevice(String(device.properties.id))
    else if (cluster) tiles.expand(clusterOf(cluster))
    else if (place) events.onSelectPlace(place)
    else if (hex) events.onSelectCell(String(hex.properties.h3))
    else events.onSelectDevice(null)
  })
  const pointed = ['devices', 'clusters', ...placeLayers]
  map.on('mousemove', pointed, ({ features = [] }) => {
    const opens = features.some(({ properties: { id, count, placeId } }) => id ?? count ?? placeId)
    map.getCanvas().style.cursor = drawing ? 'crosshair' : opens ? 'pointer' : ''
  })
  map.on('mouseleave', pointed, () => {
    map.getCanvas().style.cursor = drawing ? 'crosshair' : ''
  })

  return {
    kind: 'webgl',
    setDevices: (all, selected) => {
      selectedId = selected
      devices = all
      drawDevices()
    },
    setTiles: ({ devices: deviceTiles, areas: areaTiles }) => {
      tiles.follow(deviceTiles ? { url: deviceTiles, headers: accessHeaders() } : null)
      areas.follow(areaTiles)
    },
    setShading: areas.shade,
    selectCell: areas.selectCell,
    setTrail: (points) => {
      put('trail', collection(trailFeatures(points)))
      const head = points.at(-1)
      put(
        'trail-head',
        collection(
          head
            ? [
                {
                  type: 'Feature' as const,
                  properties: {
                    color: head.noService ? noServiceColor : colorOf(head.quality),
                    radius: Math.min(60, 6 + (head.alignErrorM ?? 0) / 4),
                  },
                  geometry: { type: 'Point' as const, coordinates: [head.lon, head.lat] },
                },
              ]
            : [],
        ),
      )
    },
    setZone: zone.outline,
    setRoute: (route) => {
      put('route', collection(route ? routeFeatures(route) : []))
      put('route-points', collection(route ? routePoints(route) : []))
    },
    setAreas: (shapes) => {
      places = shapes
      put('places', collection(areaFeatures(shapes)))
      put('place-names', collection(areaNames(shapes)))
    },
    setDrawing: (on) => {
      drawing = on
      map.getCanvas().style.cursor = on ? 'crosshair' : ''
      if (on) map.doubleClickZoom.disable()
      else map.doubleClickZoom.enable()
    },
    setTheme: restyle,
    setBackground: (next) => {
      if (next === background) return
      background = next
      restyle()
    },
    fit: ({ bounds: box, padding, animated, maxZoom = 12 }) =>
      map.fitBounds(box, { padding, maxZoom, duration: animated ? flightMs : 0 }),
    lookAt: ({ lon, lat, zoom }) => map.jumpTo({ center: [lon, lat], zoom }),
    reveal: ({ at, padding }) => {
      const size = { width: container.clientWidth, height: container.clientHeight }
      const offset = offsetInto(padding, size, map.project([at.lon, at.lat]))
      if (offset) map.easeTo({ center: [at.lon, at.lat], offset, duration: 400 })
    },
    bounds,
    destroy: () => {
      tiles.close()
      areas.close()
      zone.close()
      map.remove()
    },
  }
}
