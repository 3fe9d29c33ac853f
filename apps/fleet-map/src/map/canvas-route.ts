import type { Position } from 'geojson'
import type { DrawnRoute } from '../route/drawn.ts'
import { routeFeatures, routePoints } from './features.ts'
import type { HexAnswer } from './hexes.worker.ts'
import { colorOf } from './palette.ts'
import type { MapTheme } from './style.ts'

/** Where a position lies on the canvas. */
export type PixelOf = (position: Position) => [x: number, y: number]

const widths: Record<string, number> = { dead: 7, known: 5, unknown: 2.5 }
const dashes: Record<string, number[]> = { dead: [5, 4], known: [], unknown: [3, 4] }
const casing = 3

/** Begins a path along these positions, to be stroked by the caller. */
export function traceLine(context: CanvasRenderingContext2D, coordinates: readonly Position[], pixelOf: PixelOf): void {
  context.beginPath()
  coordinates.forEach((position, index) => {
    const [x, y] = pixelOf(position)
    if (index === 0) context.moveTo(x, y)
    else context.lineTo(x, y)
  })
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

/** Draws a route, its corners while it is being drawn, and the numbers of its dead zones. */
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
