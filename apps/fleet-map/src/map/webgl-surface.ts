import {
  type GeoJSONSource,
  Map as MapLibre,
  type MapMouseEvent,
  NavigationControl,
  ScaleControl,
  setWorkerUrl,
} from 'maplibre-gl'
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url'
import type { MapDevice } from '../api/types.ts'
import type { ClusterAnswer } from './clusters.worker.ts'
import ClusterWorker from './clusters.worker.ts?worker'
import { markDrawn } from './drawn.ts'
import { collection, deviceFeature, dwellFeature, routeFeatures, routePoints, trailFeatures } from './features.ts'
import { openHexes } from './hexes.ts'
import { iconPixelRatio, labelImage, markerImages } from './icons.ts'
import { countries, countryLabels } from './outlines.ts'
import { colorOf, noServiceColor, qualities, qualityRank } from './palette.ts'
import { mapStyle, readTheme } from './style.ts'
import { type Bounds, offsetInto, type Surface, type SurfaceEvents, type View } from './surface.ts'

setWorkerUrl(workerUrl)

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** Draws the map with MapLibre GL. Throws in browsers without WebGL2. */
export function createWebglSurface(container: HTMLElement, view: View, events: SurfaceEvents): Surface {
  const map = new MapLibre({
    container,
    style: mapStyle(readTheme(), countries),
    center: [view.lon, view.lat],
    zoom: view.zoom,
    attributionControl: { compact: false },
    dragRotate: false,
    pitchWithRotate: false,
    maxPitch: 0,
    fadeDuration: 0,
    renderWorldCopies: true,
  })
  map.touchZoomRotate.disableRotation()
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right')
  map.addControl(new ScaleControl({ unit: 'metric' }), 'bottom-right')

  const clusterWorker = new ClusterWorker()
  let devices: MapDevice[] = []
  let selectedId: string | null = null
  let selectedCell: string | null = null
  let clusterSequence = 0
  // The data of each source, restored after a theme change replaces the style.
  const held: Record<string, GeoJSON.FeatureCollection> = {}

  const put = (source: string, data: GeoJSON.FeatureCollection) => {
    held[source] = data
    ;(map.getSource(source) as GeoJSONSource | undefined)?.setData(data)
  }

  const hexes = openHexes((features) => put('hexes', collection(features)))
  const zone = openHexes((features) => put('zone', collection(features)))
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

  const bounds = (): Bounds => {
    const box = map.getBounds()
    return [box.getWest(), box.getSouth(), box.getEast(), box.getNorth()]
  }

  const queryClusters = () => {
    clusterSequence += 1
    clusterWorker.postMessage({ query: { sequence: clusterSequence, bounds: bounds(), zoom: map.getZoom() } })
  }

  clusterWorker.addEventListener('message', (event: MessageEvent<ClusterAnswer>) => {
    const { sequence, items } = event.data
    if (sequence !== clusterSequence) return
    const nowMs = Date.now()
    const clusters: GeoJSON.Feature[] = []
    const singles: GeoJSON.Feature[] = []
    const selected = devices.find((device) => device.deviceId === selectedId)
    for (const { lon, lat, point, count, worst, expandZoom } of items) {
      const device = point === null ? undefined : devices[point]
      if (device) {
        if (device !== selected) singles.push(deviceFeature(device, false, nowMs))
      } else
        clusters.push({
          type: 'Feature',
          properties: {
            count,
            label: compact.format(count),
            color: worst < qualities.length ? colorOf(qualities[worst] ?? null) : noServiceColor,
            expandZoom,
          },
          geometry: { type: 'Point', coordinates: [lon, lat] },
        })
    }
    // The selected device is always drawn on top, even inside a cluster.
    if (selected?.location) singles.push(deviceFeature(selected, true, nowMs))
    put('clusters', collection(clusters))
    put('devices', collection(singles))
  })

  map.on('style.load', () => {
    addImages()
    for (const [source, data] of Object.entries(held)) put(source, data)
    map.setFilter('hex-selected', ['==', ['get', 'h3'], selectedCell ?? ''])
    queryClusters()
  })
  const isDrawn = (source: string) => (held[source]?.features.length ?? 0) > 0 && map.isSourceLoaded(source)
  map.on('render', () => {
    if (isDrawn('devices') || isDrawn('clusters')) markDrawn('devices')
    if (isDrawn('hexes')) markDrawn('coverage')
  })
  map.on('moveend', () => {
    queryClusters()
    const { lng, lat } = map.getCenter()
    events.onMove({ lon: lng, lat, zoom: map.getZoom() }, bounds())
  })
  map.on('zoom', () => {
    if (map.isZooming()) queryClusters()
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
      { layers: ['devices', 'clusters', 'hexes', 'hexes-hatched'] },
    )
    const of = (layer: string) => found.find((feature) => feature.layer.id.startsWith(layer))
    const device = of('devices')
    const cluster = of('clusters')
    const hex = of('hexes')
    if (device) events.onSelectDevice(String(device.properties.id))
    else if (cluster)
      map.easeTo({ center: event.lngLat, zoom: Number(cluster.properties.expandZoom ?? map.getZoom() + 2) })
    else if (hex) events.onSelectCell(String(hex.properties.h3))
    else events.onSelectDevice(null)
  })
  for (const layer of ['devices', 'clusters']) {
    map.on('mouseenter', layer, () => {
      map.getCanvas().style.cursor = drawing ? 'crosshair' : 'pointer'
    })
    map.on('mouseleave', layer, () => {
      map.getCanvas().style.cursor = drawing ? 'crosshair' : ''
    })
  }

  return {
    kind: 'webgl',
    setDevices: (all, selected) => {
      selectedId = selected
      devices = all.filter((device) => device.location !== null)
      const lonLat = new Float64Array(devices.length * 2)
      const rank = new Uint8Array(devices.length)
      devices.forEach((device, index) => {
        lonLat[index * 2] = device.location?.lon ?? 0
        lonLat[index * 2 + 1] = device.location?.lat ?? 0
        rank[index] = qualityRank(device.signal?.rat === 'none' ? 'none' : (device.signal?.quality ?? null))
      })
      clusterWorker.postMessage({ load: { lonLat, rank } }, [lonLat.buffer, rank.buffer])
      queryClusters()
    },
    setCoverage: hexes.load,
    selectCell: (h3) => {
      selectedCell = h3
      if (map.getLayer('hex-selected')) map.setFilter('hex-selected', ['==', ['get', 'h3'], h3 ?? ''])
    },
    setDwells: (dwells) => put('dwells', collection(dwells.map(dwellFeature))),
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
    setDrawing: (on) => {
      drawing = on
      map.getCanvas().style.cursor = on ? 'crosshair' : ''
      if (on) map.doubleClickZoom.disable()
      else map.doubleClickZoom.enable()
    },
    setTheme: () => map.setStyle(mapStyle(readTheme(), countries), { diff: false }),
    fit: (box, padding) => map.fitBounds(box, { padding, maxZoom: 12, duration: 0 }),
    reveal: ({ at, padding }) => {
      const size = { width: container.clientWidth, height: container.clientHeight }
      const offset = offsetInto(padding, size, map.project([at.lon, at.lat]))
      if (offset) map.easeTo({ center: [at.lon, at.lat], offset, duration: 400 })
    },
    bounds,
    destroy: () => {
      clusterWorker.terminate()
      hexes.close()
      zone.close()
      map.remove()
    },
  }
}
