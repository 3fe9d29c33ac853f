import type { Dwell, MapDevice } from '../api/types.ts'
import type { DrawnRoute } from '../route/drawn.ts'
import { dwellsFromZoom } from './area-layers.ts'
import { drawCells, drawLand, drawPlaces, placesAt } from './canvas-areas.ts'
import { createCanvasCamera } from './canvas-camera.ts'
import { deviceAt, drawDevices } from './canvas-devices.ts'
import { listenForGestures } from './canvas-gestures.ts'
import { drawDwells, drawRoute, drawTrail, drawZone } from './canvas-lines.ts'
import { markDrawn } from './drawn.ts'
import { openHexes } from './hexes.ts'
import type { HexAnswer } from './hexes.worker.ts'
import { clickedPlace } from './place-click.ts'
import { readTheme } from './style.ts'
import type { AreaShape, Surface, SurfaceEvents, TrailPoint, View } from './surface.ts'

/** What the canvas shows. */
type Picture = {
  devices: readonly MapDevice[]
  selectedId: string | null
  cells: HexAnswer['features']
  selectedCell: string | null
  dwells: readonly Dwell[]
  trail: readonly TrailPoint[]
  zoneCells: HexAnswer['features']
  route: DrawnRoute | null
  places: readonly AreaShape[]
}

const emptyPicture: Picture = {
  devices: [],
  selectedId: null,
  cells: [],
  selectedCell: null,
  dwells: [],
  trail: [],
  zoneCells: [],
  route: null,
  places: [],
}

/** Draws the map without clusters on a 2D canvas, for browsers without WebGL2. */
export function createCanvasSurface(container: HTMLElement, start: View, events: SurfaceEvents): Surface {
  const { element, context } = appendCanvas(container)
  const camera = createCanvasCamera(container, start)
  let picture = emptyPicture
  let drawing = false
  let theme = readTheme()
  let frame = 0

  const draw = () => {
    frame = 0
    const { width, height } = camera.size()
    resize(element, context, width, height)
    context.fillStyle = theme.water
    context.fillRect(0, 0, width, height)
    const pixelOf = camera.projection()
    drawLand(context, pixelOf, theme)
    drawCells(context, picture, camera.bounds(), pixelOf, theme)
    if (camera.view().zoom >= dwellsFromZoom) drawDwells(context, picture.dwells, pixelOf, theme)
    drawTrail(context, picture.trail, pixelOf)
    drawZone(context, picture.zoneCells, pixelOf, theme)
    drawPlaces(context, picture.places, pixelOf, theme, camera.view().zoom)
    if (picture.route) drawRoute(context, picture.route, pixelOf, theme)
    drawDevices(context, picture, { width, height }, pixelOf, theme)
    if (picture.devices.length > 0) markDrawn('devices')
    if (picture.cells.length > 0) markDrawn('coverage')
  }
  const redraw = () => {
    frame ||= requestAnimationFrame(draw)
  }
  const show = (change: Partial<Picture>) => {
    picture = { ...picture, ...change }
    redraw()
  }
  const choose = (x: number, y: number) => {
    const pixelOf = camera.projection()
    const device = deviceAt(x, y, picture.devices, pixelOf)
    const place = clickedPlace(placesAt(context, picture.places, pixelOf, [x, y]), camera.bounds())
    if (place && !device) events.onSelectPlace(place)
    else events.onSelectDevice(device)
  }
  const reportMove = (byReader = false) => {
    redraw()
    events.onMove(camera.view(), camera.bounds(), byReader)
  }

  const hexes = openHexes((cells) => show({ cells }))
  const zone = openHexes((zoneCells) => show({ zoneCells }))
  listenForGestures(element, {
    onPan: (dx, dy) => {
      camera.panBy(dx, dy)
      redraw()
    },
    onZoom: camera.zoomAt,
    onMoveEnd: () => reportMove(true),
    onClick: (x, y) => {
      const { lon, lat } = camera.positionAt(x, y)
      if (drawing) events.onPoint(lon, lat)
      else choose(x, y)
    },
    onDoubleClick: () => {
      if (drawing) events.onFinish()
    },
  })
  const observer = new ResizeObserver(redraw)
  observer.observe(container)
  redraw()

  return {
    kind: 'canvas',
    setDevices: (devices, selectedId) => show({ devices, selectedId }),
    setCoverage: hexes.load,
    selectCell: (selectedCell) => show({ selectedCell }),
    setDwells: (dwells) => show({ dwells }),
    setTrail: (trail) => show({ trail }),
    setZone: zone.outline,
    setRoute: (route) => show({ route }),
    setAreas: (places) => show({ places }),
    setDrawing: (on) => {
      drawing = on
      element.style.cursor = on ? 'crosshair' : 'grab'
    },
    setTheme: () => {
      theme = readTheme()
      redraw()
    },
    fit: ({ bounds, padding }) => {
      camera.fit(bounds, padding)
      reportMove()
    },
    lookAt: (view) => {
      camera.lookAt(view)
      reportMove()
    },
    reveal: (reveal) => {
      if (camera.reveal(reveal)) reportMove()
    },
    bounds: camera.bounds,
    destroy: () => {
      cancelAnimationFrame(frame)
      observer.disconnect()
      hexes.close()
      zone.close()
      element.remove()
    },
  }
}

function appendCanvas(container: HTMLElement) {
  const element = document.createElement('canvas')
  element.style.cssText = 'width:100%;height:100%;touch-action:none;cursor:grab'
  element.tabIndex = 0
  element.setAttribute('role', 'img')
  element.setAttribute('aria-label', 'Map of the fleet')
  container.append(element)
  const context = element.getContext('2d')
  if (!context) throw new Error('This browser does not support 2D canvas.')
  return { element, context }
}

/** Adapts the canvas to its size on the screen, in device pixels. */
function resize(element: HTMLCanvasElement, context: CanvasRenderingContext2D, width: number, height: number): void {
  const ratio = devicePixelRatio || 1
  const [columns, rows] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (element.width !== columns || element.height !== rows) {
    element.width = columns
    element.height = rows
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
}
