import { longitudeNear, unwrapLine } from '#telemetry/geo/antimeridian'
import type { FleetDevice, Quality } from '../api/schemas.ts'
import type { DrawnRoute } from '../route/drawn.ts'
import type { LonLat } from '../route/geometry.ts'
import type { Background } from './background/background.ts'

export type View = { lon: number; lat: number; zoom: number }
/** Longitudes can be beyond ±180°. Across the antimeridian, a box of the service has west > east. */
export type Bounds = [west: number, south: number, east: number, north: number]

/** Pixels at each side that panels cover. A fitted view leaves them free. */
export type Padding = { left: number; top: number; right: number; bottom: number }

/**
 * A place on the map: its outline, whose last position equals the first. Without a name, only the outline is drawn; without an
 * id, a click does not choose it.
 */
export type AreaShape = { ring: LonLat[]; selected: boolean; name?: string; id?: string }

/** An area to show. `animated`: the map flies there. `maxZoom`: 12 by default. */
export type Fit = { bounds: Bounds; padding: Padding; animated: boolean; maxZoom?: number | undefined }

/** Clusters split up to this zoom. */
export const maxClusterZoom = 16

export type Reveal = { at: { lat: number; lon: number }; padding: Padding }

export type CoverageMetric = 'rsrp' | 'sinr' | 'service'

/** How cells are coloured: by a metric, with the lower bounds of the classes poor to excellent. */
export type Shading = { metric: CoverageMetric; bounds: readonly number[] }

/** The colours of the page's theme. */
export type MapTheme = {
  water: string
  land: string
  border: string
  label: string
  outline: string
  text: string
  surface: string
  accent: string
}

/** Addresses of tiles with {z}, {x} and {y}; null draws none. */
export type TileAddresses = { devices: string | null; areas: string | null }

export type TrailPoint = {
  ts: number
  lat: number
  lon: number
  quality: Quality | null
  noService: boolean
  alignment: string
  alignErrorM: number | null
}

/** Where the device stood, and what is written beside it. */
export type Stop = { lat: number; lon: number; label: string }

/** The shape of a device: moving, standing, or silent for more than 15 minutes. */
export type DeviceShape = 'moving' | 'standing' | 'silent'

export type SurfaceEvents = {
  onSelectDevice: (deviceId: string | null) => void
  onSelectCell: (h3: string) => void
  onSelectPlace: (placeId: string) => void
  /** A click on a cluster, with the box of its devices. */
  onSelectCluster: (bounds: Bounds) => void
  /** The map has moved. `byReader`: with the mouse, the keyboard, a finger or a button of the map. */
  onMove: (view: View, bounds: Bounds, byReader: boolean) => void
  /** A click while a route is being drawn. It selects nothing. */
  onPoint: (lon: number, lat: number) => void
  /** A double click while a route is being drawn. */
  onFinish: () => void
}

/** The drawn map. Devices, coverage and dwells come from tiles. */
export type Surface = {
  /** Draws these devices beside those of the tiles. */
  setDevices: (devices: readonly FleetDevice[], selectedId: string | null) => void
  selectCell: (h3: string | null) => void
  setTiles: (tiles: TileAddresses) => void
  setShading: (shading: Shading) => void
  setTrail: (points: readonly TrailPoint[]) => void
  setStops: (stops: readonly Stop[]) => void
  /** Marks a dead zone by the outlines of its cells. */
  setZone: (cells: readonly string[]) => void
  setRoute: (route: DrawnRoute | null) => void
  /** Draws the outlines and the names of places. */
  setAreas: (areas: readonly AreaShape[]) => void
  /** While a route is being drawn, clicks add points and a double click does not zoom. */
  setDrawing: (drawing: boolean) => void
  setTheme: () => void
  /** Sets what is drawn below the fleet; null draws country outlines. */
  setBackground: (background: Background | null) => void
  fit: (fit: Fit) => void
  /** Shows a view at once. */
  lookAt: (view: View) => void
  /** Moves the map if panels cover the position. */
  reveal: (reveal: Reveal) => void
  bounds: () => Bounds
  destroy: () => void
}

const silentAfterMs = 15 * 60_000
export const movingFromMps = 1.5

/** Returns the shape of a device at a time. A device is silent when its newest position and signal are old. */
export function shapeOf(device: FleetDevice, nowMs: number): DeviceShape {
  const lastMs = Math.max(
    device.location ? Date.parse(device.location.ts) : 0,
    device.signal ? Date.parse(device.signal.ts) : 0,
  )
  if (device.status === 'offline' || device.status === 'disabled' || nowMs - lastMs > silentAfterMs) return 'silent'
  if (device.dwell || (device.location?.speedMps ?? 0) < movingFromMps) return 'standing'
  return 'moving'
}

/** Returns the offset from the surface's centre to that of its free part; undefined when (x, y) is in the free part. */
export function offsetInto(
  { left, top, right, bottom }: Padding,
  { width, height }: { width: number; height: number },
  { x, y }: { x: number; y: number },
): [x: number, y: number] | undefined {
  if (x >= left && x <= width - right && y >= top && y <= height - bottom) return undefined
  return [(left - right) / 2, (top - bottom) / 2]
}

/** Returns the box around a line or a ring, with longitudes that do not jump; null when it has no points. */
export function boundsOf(line: readonly LonLat[]): Bounds | null {
  let bounds: Bounds | null = null
  for (const [lon, lat] of unwrapLine(line)) {
    if (!bounds) bounds = [lon, lat, lon, lat]
    else {
      bounds[0] = Math.min(bounds[0], lon)
      bounds[1] = Math.min(bounds[1], lat)
      bounds[2] = Math.max(bounds[2], lon)
      bounds[3] = Math.max(bounds[3], lat)
    }
  }
  return bounds
}

/** Returns the box with the east after the west, within half of the globe of a longitude. */
export function unwrapBounds([west, south, east, north]: Bounds, near: number): Bounds {
  const end = east < west ? east + 360 : east
  const middle = (west + end) / 2
  const turn = longitudeNear(middle, near) - middle
  return [west + turn, south, end + turn, north]
}
