import { effect, signal } from '@preact/signals'
import type { Map as MapLibre } from 'maplibre-gl'
import { accessHeaders, accessWasRefused } from '../api/client.ts'
import type { FleetDevice } from '../api/schemas.ts'
import type { DrawnCluster } from './cluster-extent.ts'
import { openDeviceTiles } from './device-tiles.ts'
import type { DeviceTilesAnswer } from './device-tiles.worker.ts'
import { markDrawn } from './drawn.ts'
import { deviceFeature, devicesInView } from './features.ts'
import type { MapSources } from './map-sources.ts'
import { shownBounds } from './open-map.ts'
import type { Bounds } from './surface.ts'

/** Draws the devices and clusters of the tiles, and other devices beside them. */
export function openMapDevices(map: MapLibre, sources: MapSources, onSelectCluster: (bounds: Bounds) => void) {
  /** Devices that are drawn beside those of the tiles. */
  let devices: readonly FleetDevice[] = []
  let selectedId: string | null = null
  let fromTiles: DeviceTilesAnswer = { url: null, devices: [], clusters: [] }

  /** Tells screen readers how many devices the view shows. */
  const describeView = () => {
    const { url, devices: single, clusters } = fromTiles
    // The selected device may also be in a cluster.
    const features = url === null ? sources.featuresOf('devices') : [...single, ...clusters]
    map.getCanvas().setAttribute('aria-label', `Map, ${devicesInView(features, shownBounds(map))} in view`)
  }
  const draw = () => {
    const nowMs = Date.now()
    const drawnAlone = new Set(devices.map(({ deviceId }) => deviceId))
    const others = fromTiles.devices.filter(({ properties }) => !drawnAlone.has(properties?.id))
    const found = devices.filter(({ location }) => location !== null)
    // The selected device is always drawn on top, even inside a cluster.
    const sorted = found.toSorted((a, b) => Number(a.deviceId === selectedId) - Number(b.deviceId === selectedId))
    sources.put('clusters', fromTiles.clusters)
    sources.put('devices', [
      ...others,
      ...sorted.map((device) => deviceFeature(device, device.deviceId === selectedId, nowMs)),
    ])
    describeView()
  }
  const tiles = openDeviceTiles({
    onAnswer: (answer) => {
      fromTiles = answer
      draw()
    },
    onExtent: onSelectCluster,
  })
  const followed = signal<string | null>(null)
  // Nothing is asked for while the reader has to sign in again.
  const stopFollowing = effect(() => {
    const url = accessWasRefused.value ? null : followed.value
    tiles.follow(url === null ? null : { url, headers: accessHeaders() })
  })
  const look = () => tiles.look(shownBounds(map), map.getZoom())
  map.on('render', () => {
    if (sources.isDrawn('devices') || sources.isDrawn('clusters')) markDrawn('devices')
  })
  map.on('zoom', () => {
    if (map.isZooming()) look()
  })
  map.on('moveend', () => {
    look()
    describeView()
  })
  return {
    set(all: readonly FleetDevice[], selected: string | null): void {
      selectedId = selected
      devices = all
      draw()
    },
    /** Draws the devices of other tiles; null draws none. */
    follow: (url: string | null): void => {
      followed.value = url
    },
    /** Reads the tiles that the map shows. */
    look,
    /** Asks for the box of the devices of a cluster. */
    expand: (cluster: DrawnCluster): void => tiles.expand(cluster),
    close: () => {
      stopFollowing()
      tiles.close()
    },
  }
}
