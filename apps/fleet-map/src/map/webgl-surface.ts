import type { Map as MapLibre } from 'maplibre-gl'
import { longitudeNear } from '#telemetry/geo/antimeridian'
import type { LonLat } from '../route/geometry.ts'
import { openAreaTiles } from './area-tiles.ts'
import type { Background } from './background/background.ts'
import { areaFeatures, areaNames, routePoints, stopFeatures, trailHead } from './features.ts'
import { openHexes } from './hexes.ts'
import { routeFeatures, trailFeatures } from './line-features.ts'
import { listenForClicks } from './map-clicks.ts'
import { openMapDevices } from './map-devices.ts'
import { openMapSources } from './map-sources.ts'
import { openTooltip } from './map-tooltip.ts'
import { openMap, shownBounds } from './open-map.ts'
import { countries } from './outlines.ts'
import { lowestLayerAboveAreas, mapStyle, readTheme } from './style.ts'
import { type AreaShape, offsetInto, type Surface, type SurfaceEvents, unwrapBounds, type View } from './surface.ts'
import { describeTownsInView } from './towns-in-view.ts'

const flightMs = 700

/**
 * Draws the map with MapLibre GL. `inPage`: the map is a part of a page that scrolls. Throws in browsers without WebGL2.
 */
export function createWebglSurface(
  container: HTMLElement,
  view: View,
  events: SurfaceEvents,
  options: { inPage: boolean },
): Surface {
  const map = openMap(container, view, options)
  let background: Background | null = null
  let places: readonly AreaShape[] = []
  const sources = openMapSources(map)
  const areas = openAreaTiles(map, () => lowestLayerAboveAreas(background))
  const zone = openHexes((features) => sources.put('zone', features))
  const devices = openMapDevices(map, sources, events.onSelectCluster)
  const clicks = listenForClicks(map, {
    events,
    places: () => places,
    cellLayers: areas.layers,
    onCluster: devices.expand,
  })
  const restyle = () => {
    areas.suspend()
    map.setStyle(mapStyle(readTheme(), countries, background), { diff: false })
  }
  map.on('style.load', () => {
    sources.restore()
    areas.restore()
    devices.look()
  })
  reportMoves(map, events)
  describeTownsInView(map)
  openTooltip(map, ['devices', 'clusters'])

  return {
    setDevices: devices.set,
    setTiles: (tiles) => {
      devices.follow(tiles.devices)
      areas.follow(tiles.areas)
    },
    setShading: areas.shade,
    selectCell: areas.selectCell,
    setTrail: (points) => {
      sources.put('trail', trailFeatures(points))
      sources.put('trail-head', trailHead(points))
    },
    setStops: (stops) => sources.put('stops', stopFeatures(stops)),
    setZone: zone.outline,
    setRoute: (route) => {
      sources.put('route', route ? routeFeatures(route) : [])
      sources.put('route-points', route ? routePoints(route) : [])
    },
    setAreas: (shapes) => {
      places = shapes
      sources.put('places', areaFeatures(shapes))
      sources.put('place-names', areaNames(shapes))
    },
    setDrawing: clicks.setDrawing,
    setTheme: restyle,
    setBackground: (next) => {
      if (next === background) return
      background = next
      restyle()
    },
    ...cameraOf(map, container),
    destroy: () => {
      devices.close()
      areas.close()
      zone.close()
      map.remove()
    },
  }
}

function reportMoves(map: MapLibre, events: SurfaceEvents): void {
  let isMovedByReader = false
  // MapLibre names the event of each movement by the reader, except of those with the wheel.
  map.on('movestart', ({ originalEvent }) => {
    isMovedByReader = originalEvent !== undefined || map.scrollZoom.isActive()
  })
  map.on('moveend', () => {
    const { lng, lat } = map.getCenter().wrap()
    events.onMove({ lon: lng, lat, zoom: map.getZoom() }, shownBounds(map), isMovedByReader)
  })
}

const cameraOf = (map: MapLibre, container: HTMLElement): Pick<Surface, 'fit' | 'lookAt' | 'reveal' | 'bounds'> => ({
  fit: ({ bounds, padding, animated, maxZoom = 12 }) =>
    map.fitBounds(unwrapBounds(bounds, map.getCenter().lng), { padding, maxZoom, duration: animated ? flightMs : 0 }),
  lookAt: ({ lon, lat, zoom }) => map.jumpTo({ center: [lon, lat], zoom }),
  reveal: ({ at, padding }) => {
    const size = { width: container.clientWidth, height: container.clientHeight }
    const center: LonLat = [longitudeNear(at.lon, map.getCenter().lng), at.lat]
    const offset = offsetInto(padding, size, map.project(center))
    if (offset) map.easeTo({ center, offset, duration: 400 })
  },
  bounds: () => shownBounds(map),
})
