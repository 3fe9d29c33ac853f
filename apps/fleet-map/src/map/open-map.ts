import { Map as MapLibre, NavigationControl, ScaleControl, setWorkerUrl } from 'maplibre-gl'
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url'
import { accessHeaders } from '../api/client.ts'
import { backgroundSettings } from './background/background-settings.ts'
import { mapRequest } from './map-request.ts'
import { countries } from './outlines.ts'
import { satelliteControl } from './satellite-control.tsx'
import { mapStyle, readTheme } from './style.ts'
import type { Bounds, View } from './surface.ts'

setWorkerUrl(workerUrl)

/**
 * Opens MapLibre with country outlines and the controls of the page. `inPage`: the map is a part of a page that scrolls, so one
 * finger and the wheel alone scroll the page. Throws in browsers without WebGL2.
 */
export function openMap(container: HTMLElement, view: View, { inPage }: { inPage: boolean }): MapLibre {
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
    cooperativeGestures: inPage,
    transformRequest: (url) => mapRequest(url, document.baseURI, accessHeaders()),
  })
  map.touchZoomRotate.disableRotation()
  map.addControl(new NavigationControl({ showCompass: false }), 'top-right')
  if (backgroundSettings.satellite) map.addControl(satelliteControl(), 'top-right')
  map.addControl(new ScaleControl({ unit: 'metric' }), 'bottom-right')
  map.on('error', ({ error }) => {
    // The page shows elsewhere that the service refuses requests or is unreachable.
    if (!('status' in error)) console.error(error)
  })
  return map
}

/** Returns the part of the world that the map shows. */
export function shownBounds(map: MapLibre): Bounds {
  const box = map.getBounds()
  return [box.getWest(), box.getSouth(), box.getEast(), box.getNorth()]
}
