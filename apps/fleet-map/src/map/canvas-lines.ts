import type { Position } from 'geojson'
import type { Dwell } from '../api/types.ts'
import type { DrawnRoute } from '../route/drawn.ts'
import type { PixelOf } from './canvas-camera.ts'
import { routeFeatures, routePoints, trailFeatures } from './features.ts'
import type { HexAnswer } from './hexes.worker.ts'
import { colorOf } from './palette.ts'
import type { MapTheme, TrailPoint } from './surface.ts'

const widths: Record<string, number> = { dead: 7, known: 5, unknown: 2.5 }
const dashes: Record<string, number[]> = { dead: [5, 4], known: [], unknown: [3, 4] }
const casing = 3

/** Begins a path along these positions. The caller strokes it. */
function traceLine(context: CanvasRenderingContext2D, coordinates: readonly Position[], pixelOf: PixelOf): void {
  context.beginPath()
  coordinates.forEach((position, index) => {
    const [x, y] = pixelOf(position)
    if (index === 0) context.moveTo(x, y)
    else context.lineTo(x, y)
  })
}

/** Draws dwells as circles that grow with the duration. */
export function drawDwells(
  context: CanvasRenderingContext2D,
  dwells: readonly Dwell[],
  pixelOf: PixelOf,
  { text }: MapTheme,
): void {
  context.strokeStyle = text
  context.lineWidth = 1
  context.globalAlpha = 0.5
  for (const { lon, lat, durationS } of dwells) {
    context.beginPath()
    context.arc(...pixelOf([lon, lat]), 4 + 2 * Math.sqrt(durationS / 600), 0, Math.PI * 2)
    context.stroke()
  }
  context.globalAlpha = 1
}

/** Draws the trail of the selected device, coloured by signal. */
export function drawTrail(context: CanvasRenderingContext2D, trail: readonly TrailPoint[], pixelOf: PixelOf): void {
  context.lineWidth = 3.5
  context.lineCap = 'round'
  for (const { geometry, properties } of trailFeatures(trail)) {
    context.strokeStyle = String(properties?.color)
    context.setLineDash(properties?.dashed ? [4, 5] : [])
    traceLine(context, geometry.coordinates, pixelOf)
    context.stroke()
  }
  context.setLineDash([])
}

/** Outlines the cells of a dead zone. */
export function drawZone(
  context: CanvasRenderingContext2D,
  cells: HexAnswer['features'],
  pixelOf: PixelOf,
  { text }: MapTheme,
): void {
  context.strokeStyle = text
  context.lineWidth = 2.5
  context.setLineDash([5, 3])
  for (const { geometry } of cells) {
    traceLine(context, geometry.coordinates[0] ?? [], pixelOf)
    context.stroke()
  }
  context.setLineDash([])
}

/** Draws a route, its points while it is being drawn, and the numbers of its dead zones. */
export function drawRoute(
  context: CanvasRenderingContext2D,
  route: DrawnRoute,
  pixelOf: PixelOf,
  { outline, text, surface }: MapTheme,
): void {
  for (const { geometry, properties } of routeFeatures(route)) {
    const look = String(properties?.look)
    const width = widths[look] ?? casing
    traceLine(context, geometry.coordinates, pixelOf)
    context.lineWidth = width + casing
    context.strokeStyle = outline
    context.stroke()
    context.setLineDash(dashes[look] ?? [])
    context.lineWidth = width
    context.strokeStyle = String(properties?.color)
    context.stroke()
    context.setLineDash([])
  }
  context.font = '12px sans-serif'
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  for (const { geometry, properties } of routePoints(route)) {
    const { label } = properties
    const [x, y] = pixelOf(geometry.coordinates)
    context.beginPath()
    context.arc(x, y, label === '' ? 4.5 : 10, 0, Math.PI * 2)
    context.fillStyle = label === '' ? text : surface
    context.fill()
    context.lineWidth = 2
    context.strokeStyle = label === '' ? outline : colorOf('none')
    context.stroke()
    context.fillStyle = text
    context.fillText(label, x, y)
  }
}
