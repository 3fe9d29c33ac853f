import type { Position } from 'geojson'
import { middleOf } from './area-shape.ts'
import type { PixelOf } from './canvas-camera.ts'
import type { HexAnswer } from './hexes.worker.ts'
import { countries } from './outlines.ts'
import { noServiceColor } from './palette.ts'
import { placeNamesFromZoom } from './style.ts'
import type { AreaShape, Bounds, MapTheme } from './surface.ts'

// Chromium draws several short paths faster than one path with more cells than this.
const cellsPerPath = 250

function traceRing(context: CanvasRenderingContext2D, ring: readonly Position[], pixelOf: PixelOf): void {
  ring.forEach((position, index) => {
    const [x, y] = pixelOf(position)
    if (index === 0) context.moveTo(x, y)
    else context.lineTo(x, y)
  })
  context.closePath()
}

/** Draws the countries. */
export function drawLand(context: CanvasRenderingContext2D, pixelOf: PixelOf, { land, border }: MapTheme): void {
  context.fillStyle = land
  context.strokeStyle = border
  context.lineWidth = 0.8
  for (const { geometry } of countries.features) {
    const polygons =
      geometry.type === 'Polygon'
        ? [geometry.coordinates]
        : geometry.type === 'MultiPolygon'
          ? geometry.coordinates
          : []
    context.beginPath()
    for (const polygon of polygons) for (const ring of polygon) traceRing(context, ring, pixelOf)
    context.fill('evenodd')
    context.stroke()
  }
}

const ringOf = ({ geometry }: HexAnswer['features'][number]) => geometry.coordinates[0] ?? []

/** Draws the coverage cells inside the bounds, and an outline around the selected one. */
export function drawCells(
  context: CanvasRenderingContext2D,
  { cells, selectedCell }: { cells: HexAnswer['features']; selectedCell: string | null },
  [west, south, east, north]: Bounds,
  pixelOf: PixelOf,
  { text }: MapTheme,
): void {
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
      for (const cell of group.slice(from, from + cellsPerPath)) traceRing(context, ringOf(cell), pixelOf)
      context.fill()
    }
  }
  context.globalAlpha = 1
  const selected = visible.find(({ properties }) => properties.h3 === selectedCell)
  if (!selected) return
  context.strokeStyle = text
  context.lineWidth = 2.5
  context.beginPath()
  traceRing(context, ringOf(selected), pixelOf)
  context.stroke()
}

/** Returns the places whose outline contains a point of the canvas, in pixels of the page. */
export function placesAt(
  context: CanvasRenderingContext2D,
  places: readonly AreaShape[],
  pixelOf: PixelOf,
  [x, y]: [x: number, y: number],
): AreaShape[] {
  // The point is in pixels of the canvas: the scale of the context does not apply to it.
  const scale = context.getTransform().a
  return places.filter(({ ring }) => {
    context.beginPath()
    traceRing(context, ring, pixelOf)
    return context.isPointInPath(x * scale, y * scale)
  })
}

/** Draws the outlines of places, and their names from the zoom on where they have room. */
export function drawPlaces(
  context: CanvasRenderingContext2D,
  places: readonly AreaShape[],
  pixelOf: PixelOf,
  { accent, surface }: MapTheme,
  zoom: number,
): void {
  context.strokeStyle = accent
  for (const { ring, selected } of places) {
    context.fillStyle = accent
    context.beginPath()
    traceRing(context, ring, pixelOf)
    context.globalAlpha = selected ? 0.22 : 0.1
    context.fill()
    context.globalAlpha = 1
    context.lineWidth = selected ? 2.5 : 1.5
    context.stroke()
  }
  if (zoom < placeNamesFromZoom) return
  context.save()
  context.font = `600 12px ${getComputedStyle(document.body).fontFamily}`
  context.textAlign = 'center'
  context.lineJoin = 'round'
  context.lineWidth = 3
  context.strokeStyle = surface
  context.fillStyle = accent
  for (const { ring, name } of places) {
    if (!name) continue
    const [x, y] = pixelOf(middleOf(ring))
    context.strokeText(name, x, y + 16)
    context.fillText(name, x, y + 16)
  }
  context.restore()
}
