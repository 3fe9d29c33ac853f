import type { Position } from 'geojson'
import { projectX, projectY, unprojectX, unprojectY, viewOf } from './mercator.ts'
import { type Bounds, offsetInto, type Padding, type Reveal, type View } from './surface.ts'

/** Returns the canvas pixel of a position. */
export type PixelOf = (position: Position) => [x: number, y: number]

const maxZoom = 17
const maxFitZoom = 12

/** Owns the view of the 2D canvas: the position at the centre of `container`, and the zoom. */
export function createCanvasCamera(container: HTMLElement, start: View) {
  let view = start

  const size = () => ({ width: container.clientWidth, height: container.clientHeight })
  const origin = () => {
    const { width, height } = size()
    return { x0: projectX(view.lon, view.zoom) - width / 2, y0: projectY(view.lat, view.zoom) - height / 2 }
  }
  const positionAt = (x: number, y: number) => {
    const { x0, y0 } = origin()
    return { lon: unprojectX(x0 + x, view.zoom), lat: unprojectY(y0 + y, view.zoom) }
  }
  const centreOn = (x: number, y: number, zoom: number) => {
    view = { lon: unprojectX(x, zoom), lat: unprojectY(y, zoom), zoom }
  }

  return {
    size,
    positionAt,
    view: () => view,
    bounds(): Bounds {
      const { width, height } = size()
      const [northWest, southEast] = [positionAt(0, 0), positionAt(width, height)]
      return [northWest.lon, southEast.lat, southEast.lon, northWest.lat]
    },
    /** Returns the projection of the current view. It does not follow later moves. */
    projection(): PixelOf {
      const { x0, y0 } = origin()
      const { zoom } = view
      return ([lon = 0, lat = 0]) => [projectX(lon, zoom) - x0, projectY(lat, zoom) - y0]
    },
    panBy(dx: number, dy: number): void {
      centreOn(projectX(view.lon, view.zoom) - dx, projectY(view.lat, view.zoom) - dy, view.zoom)
    },
    /** Zooms and keeps the position at pixel (x, y) in place. */
    zoomAt(x: number, y: number, by: number): void {
      const zoom = Math.max(1, Math.min(maxZoom, view.zoom + by))
      const { lon, lat } = positionAt(x, y)
      const { width, height } = size()
      centreOn(projectX(lon, zoom) - x + width / 2, projectY(lat, zoom) - y + height / 2, zoom)
    },
    lookAt(next: View): void {
      view = next
    },
    fit(bounds: Bounds, { left, top, right, bottom }: Padding): void {
      const { width, height } = size()
      const [freeWidth, freeHeight] = [Math.max(1, width - left - right), Math.max(1, height - top - bottom)]
      const { lon, lat, zoom } = viewOf(bounds, freeWidth, freeHeight, maxFitZoom)
      centreOn(projectX(lon, zoom) + (right - left) / 2, projectY(lat, zoom) + (bottom - top) / 2, zoom)
    },
    /** Moves a position out from under the panels. Returns false when it was already visible. */
    reveal({ at, padding }: Reveal): boolean {
      const [x, y] = [projectX(at.lon, view.zoom), projectY(at.lat, view.zoom)]
      const { x0, y0 } = origin()
      const offset = offsetInto(padding, size(), { x: x - x0, y: y - y0 })
      if (offset) centreOn(x - offset[0], y - offset[1], view.zoom)
      return offset !== undefined
    },
  }
}
