import type { Position } from 'geojson'
import type { Dwell, MapDevice } from '../api/types.ts'
import type { DrawnRoute } from '../route/drawn.ts'
import { drawDwells, drawRoute, drawTrail, drawZone, type PixelOf } from './canvas-lines.ts'
import { markDrawn } from './drawn.ts'
import { openHexes } from './hexes.ts'
import type { HexAnswer } from './hexes.worker.ts'
import { traceShape } from './icons.ts'
import { projectX, projectY, unprojectX, unprojectY, viewOf } from './mercator.ts'
import { countries } from './outlines.ts'
import { colorOf, noServiceColor } from './palette.ts'
import { dwellsFromZoom, readTheme } from './style.ts'
import {
  type Bounds,
  offsetInto,
  type Surface,
  type SurfaceEvents,
  shapeOf,
  type TrailPoint,
  type View,
} from './surface.ts'

// Chromium draws several short paths faster than one path with more cells than this.
const cellsPerPath = 250
const maxZoom = 17

/** Draws the map without clusters on a 2D canvas, for browsers without WebGL2. */
export function createCanvasSurface(container: HTMLElement, start: View, events: SurfaceEvents): Surface {
  const element = document.createElement('canvas')
  element.style.cssText = 'width:100%;height:100%;touch-action:none;cursor:grab'
  element.tabIndex = 0
  element.setAttribute('role', 'img')
  element.setAttribute('aria-label', 'Map of the fleet')
  container.append(element)
  const context = element.getContext('2d')
  if (!context) throw new Error('This browser does not support 2D canvas.')

  let view = start
  let devices: readonly MapDevice[] = []
  let selectedId: string | null = null
  let cells: HexAnswer['features'] = []
  let selectedCell: string | null = null
  let dwells: readonly Dwell[] = []
  let trail: readonly TrailPoint[] = []
  let zoneCells: HexAnswer['features'] = []
  let route: DrawnRoute | null = null
  let drawing = false
  let theme = readTheme()
  let frame = 0

  const hexes = openHexes((features) => {
    cells = features
    redraw()
  })
  const zone = openHexes((features) => {
    zoneCells = features
    redraw()
  })

  const size = () => ({ width: container.clientWidth, height: container.clientHeight })
  const originX = () => projectX(view.lon, view.zoom) - size().width / 2
  const originY = () => projectY(view.lat, view.zoom) - size().height / 2

  const bounds = (): Bounds => {
    const { width, height } = size()
    const [x, y] = [originX(), originY()]
    return [
      unprojectX(x, view.zoom),
      unprojectY(y + height, view.zoom),
      unprojectX(x + width, view.zoom),
      unprojectY(y, view.zoom),
    ]
  }

  const traceRing = (ring: readonly Position[], x0: number, y0: number) => {
    ring.forEach(([lon = 0, lat = 0], index) => {
      const [x, y] = [projectX(lon, view.zoom) - x0, projectY(lat, view.zoom) - y0]
      if (index === 0) context.moveTo(x, y)
      else context.lineTo(x, y)
    })
    context.closePath()
  }

  const drawLand = (x0: number, y0: number) => {
    context.fillStyle = theme.land
    context.strokeStyle = theme.border
    context.lineWidth = 0.8
    for (const { geometry } of countries.features) {
      const polygons =
        geometry.type === 'Polygon'
          ? [geometry.coordinates]
          : geometry.type === 'MultiPolygon'
            ? geometry.coordinates
            : []
      context.beginPath()
      for (const polygon of polygons) for (const ring of polygon) traceRing(ring, x0, y0)
      context.fill('evenodd')
      context.stroke()
    }
  }

  const drawCells = (x0: number, y0: number) => {
    const [west, south, east, north] = bounds()
    const ringOf = ({ geometry }: HexAnswer['features'][number]) => geometry.coordinates[0] ?? []
    const visible = cells.filter((cell) => {
      const [lon = 0, lat = 0] = ringOf(cell)[0] ?? []
      return lon > west - 1 && lon < east + 1 && lat > south - 1 && lat < north + 1
    })
    const byColor = Map.groupBy(visible, ({ properties }) => (properties.hatched ? noServiceColor : properties.color))
    context.globalAlpha = 0.55
    for (const [color, group] of byColor) {
      context.fillStyle = color
      for (let from = 0; from < group.length; from += cellsPerPath) {
        context.beginPath()
        for (const cell of group.slice(from, from + cellsPerPath)) traceRing(ringOf(cell), x0, y0)
        context.fill()
      }
    }
    context.globalAlpha = 1
    const selected = visible.find(({ properties }) => properties.h3 === selectedCell)
    if (!selected) return
    context.strokeStyle = theme.text
    context.lineWidth = 2.5
    context.beginPath()
    traceRing(ringOf(selected), x0, y0)
    context.stroke()
  }

  const drawDevices = (x0: number, y0: number) => {
    const { width, height } = size()
    const nowMs = Date.now()
    for (const device of devices) {
      if (!device.location) continue
      const x = projectX(device.location.lon, view.zoom) - x0
      const y = projectY(device.location.lat, view.zoom) - y0
      if (x < -20 || y < -20 || x > width + 20 || y > height + 20) continue
      const shape = shapeOf(device, nowMs)
      context.save()
      context.translate(x, y)
      if (shape === 'moving') context.rotate(((device.location.headingDeg ?? 0) * Math.PI) / 180)
      if (device.deviceId === selectedId) {
        context.strokeStyle = theme.text
        context.lineWidth = 1.5
        context.beginPath()
        context.arc(0, 0, 15, 0, Math.PI * 2)
        context.stroke()
      }
      traceShape(context, shape, 7)
      context.strokeStyle = shape === 'silent' ? noServiceColor : theme.outline
      context.lineWidth = 2
      context.stroke()
      if (shape !== 'silent') {
        context.fillStyle = device.signal?.rat === 'none' ? colorOf('none') : colorOf(device.signal?.quality ?? null)
        context.fill()
      }
      context.restore()
    }
  }

  const draw = () => {
    frame = 0
    const { width, height } = size()
    const ratio = devicePixelRatio || 1
    if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
      element.width = Math.round(width * ratio)
      element.height = Math.round(height * ratio)
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.fillStyle = theme.water
    context.fillRect(0, 0, width, height)
    const [x0, y0] = [originX(), originY()]
    drawLand(x0, y0)
    drawCells(x0, y0)
    const pixelOf: PixelOf = ([lon = 0, lat = 0]) => [projectX(lon, view.zoom) - x0, projectY(lat, view.zoom) - y0]
    if (view.zoom >= dwellsFromZoom) drawDwells(context, dwells, pixelOf, theme)
    drawTrail(context, trail, pixelOf)
    drawZone(context, zoneCells, pixelOf, theme)
    if (route) drawRoute(context, route, pixelOf, theme)
    drawDevices(x0, y0)
    if (devices.length > 0) markDrawn('devices')
    if (cells.length > 0) markDrawn('coverage')
  }
  const redraw = () => {
    frame ||= requestAnimationFrame(draw)
  }
  const moved = () => {
    redraw()
    events.onMove(view, bounds())
  }

  const zoomAt = (x: number, y: number, by: number) => {
    const zoom = Math.max(1, Math.min(maxZoom, view.zoom + by))
    const lon = unprojectX(originX() + x, view.zoom)
    const lat = unprojectY(originY() + y, view.zoom)
    const { width, height } = size()
    view = {
      zoom,
      lon: unprojectX(projectX(lon, zoom) - x + width / 2, zoom),
      lat: unprojectY(projectY(lat, zoom) - y + height / 2, zoom),
    }
    moved()
  }
  const panBy = (dx: number, dy: number) => {
    view = {
      ...view,
      lon: unprojectX(projectX(view.lon, view.zoom) - dx, view.zoom),
      lat: unprojectY(projectY(view.lat, view.zoom) - dy, view.zoom),
    }
    redraw()
  }

  const pick = (x: number, y: number) => {
    const [x0, y0] = [originX(), originY()]
    let nearest: { id: string; distance: number } | undefined
    for (const { deviceId, location } of devices) {
      if (!location) continue
      const distance = Math.hypot(
        projectX(location.lon, view.zoom) - x0 - x,
        projectY(location.lat, view.zoom) - y0 - y,
      )
      if (distance < 14 && distance < (nearest?.distance ?? Infinity)) nearest = { id: deviceId, distance }
    }
    events.onSelectDevice(nearest?.id ?? null)
  }

  let drag: { x: number; y: number; far: number } | undefined
  element.addEventListener('pointerdown', (event) => {
    element.setPointerCapture(event.pointerId)
    drag = { x: event.offsetX, y: event.offsetY, far: 0 }
  })
  element.addEventListener('pointermove', (event) => {
    if (!drag) return
    panBy(event.offsetX - drag.x, event.offsetY - drag.y)
    drag = {
      x: event.offsetX,
      y: event.offsetY,
      far: drag.far + Math.abs(event.offsetX - drag.x) + Math.abs(event.offsetY - drag.y),
    }
  })
  element.addEventListener('pointerup', (event) => {
    if (drag && drag.far < 5) {
      const { offsetX: x, offsetY: y } = event
      if (drawing) events.onPoint(unprojectX(originX() + x, view.zoom), unprojectY(originY() + y, view.zoom))
      else pick(x, y)
    } else moved()
    drag = undefined
  })
  element.addEventListener('dblclick', () => {
    if (drawing) events.onFinish()
  })
  element.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault()
      zoomAt(event.offsetX, event.offsetY, -event.deltaY / 300)
    },
    { passive: false },
  )
  element.addEventListener('keydown', (event) => {
    const { width, height } = size()
    const steps: Record<string, () => void> = {
      ArrowLeft: () => panBy(80, 0),
      ArrowRight: () => panBy(-80, 0),
      ArrowUp: () => panBy(0, 80),
      ArrowDown: () => panBy(0, -80),
      '+': () => zoomAt(width / 2, height / 2, 1),
      '-': () => zoomAt(width / 2, height / 2, -1),
    }
    const step = steps[event.key]
    if (!step) return
    event.preventDefault()
    step()
    moved()
  })
  const observer = new ResizeObserver(redraw)
  observer.observe(container)
  redraw()

  return {
    kind: 'canvas',
    setDevices: (all, selected) => {
      devices = all
      selectedId = selected
      redraw()
    },
    setCoverage: hexes.load,
    selectCell: (h3) => {
      selectedCell = h3
      redraw()
    },
    setDwells: (all) => {
      dwells = all
      redraw()
    },
    setTrail: (points) => {
      trail = points
      redraw()
    },
    setZone: zone.outline,
    setRoute: (shown) => {
      route = shown
      redraw()
    },
    setDrawing: (on) => {
      drawing = on
      element.style.cursor = on ? 'crosshair' : 'grab'
    },
    setTheme: () => {
      theme = readTheme()
      redraw()
    },
    fit: (box, { left, top, right, bottom }) => {
      const { width, height } = size()
      const { lon, lat, zoom } = viewOf(box, Math.max(1, width - left - right), Math.max(1, height - top - bottom), 12)
      view = {
        lon: unprojectX(projectX(lon, zoom) + (right - left) / 2, zoom),
        lat: unprojectY(projectY(lat, zoom) + (bottom - top) / 2, zoom),
        zoom,
      }
      moved()
    },
    reveal: ({ at, padding }) => {
      const [x, y] = [projectX(at.lon, view.zoom), projectY(at.lat, view.zoom)]
      const offset = offsetInto(padding, size(), { x: x - originX(), y: y - originY() })
      if (!offset) return
      view = {
        ...view,
        lon: unprojectX(x - offset[0], view.zoom),
        lat: unprojectY(y - offset[1], view.zoom),
      }
      moved()
    },
    bounds,
    destroy: () => {
      cancelAnimationFrame(frame)
      observer.disconnect()
      hexes.close()
      zone.close()
      element.remove()
    },
  }
}
