import type { Quality } from '../api/schemas.ts'
import { colorOf, noServiceColor, qualities } from './palette.ts'
import type { DeviceShape, MapTheme } from './surface.ts'

/** The name of the disc behind the number of a dead zone. */
export const zoneNumberIcon = 'zone-number'

/** The beginning of the names of the marks for a status. */
export const statusIcon = 'status-'

/** The name of the dot of a town in the map of the world. */
export const townDotIcon = 'town-dot'

const sizePx = 26
const ratio = 2

export const iconName = (shape: DeviceShape, quality: Quality | null): string =>
  `device-${shape}-${quality ?? 'unknown'}`

function canvas(width: number, height: number): CanvasRenderingContext2D {
  const element = document.createElement('canvas')
  element.width = width * ratio
  element.height = height * ratio
  // The pixels are read at once, which is slow for a canvas on the GPU.
  const context = element.getContext('2d', { willReadFrequently: true })
  if (!context) throw new Error('This browser does not support 2D canvas.')
  context.scale(ratio, ratio)
  return context
}

function pixels(context: CanvasRenderingContext2D): ImageData {
  return context.getImageData(0, 0, context.canvas.width, context.canvas.height)
}

/** Traces the outline of a marker centred on (0, 0): an arrow pointing up, a square, or a ring. */
function traceShape(context: CanvasRenderingContext2D, shape: DeviceShape, radius: number): void {
  context.beginPath()
  if (shape === 'moving') {
    context.moveTo(0, -radius * 1.2)
    context.lineTo(radius * 0.9, radius)
    context.lineTo(0, radius * 0.5)
    context.lineTo(-radius * 0.9, radius)
    context.closePath()
  } else if (shape === 'standing') context.rect(-radius * 0.78, -radius * 0.78, radius * 1.56, radius * 1.56)
  else context.arc(0, 0, radius * 0.75, 0, Math.PI * 2)
}

function deviceIcon(shape: DeviceShape, quality: Quality | null, outline: string): ImageData {
  const context = canvas(sizePx, sizePx)
  context.translate(sizePx / 2, sizePx / 2)
  traceShape(context, shape, 8)
  context.lineJoin = 'round'
  if (shape === 'silent') {
    context.strokeStyle = outline
    context.lineWidth = 5
    context.stroke()
    context.strokeStyle = noServiceColor
    context.lineWidth = 2.5
    context.stroke()
  } else {
    context.strokeStyle = outline
    context.lineWidth = 3
    context.stroke()
    context.fillStyle = colorOf(quality)
    context.fill()
    if (quality === 'none') {
      // The cross means "no signal" for readers who cannot distinguish red from orange.
      context.strokeStyle = '#ffffff'
      context.lineWidth = 1.6
      context.beginPath()
      context.moveTo(-2.6, -1)
      context.lineTo(2.6, 4.2)
      context.moveTo(2.6, -1)
      context.lineTo(-2.6, 4.2)
      context.stroke()
    }
  }
  return pixels(context)
}

function zoneNumberDisc(fill: string): ImageData {
  const context = canvas(sizePx, sizePx)
  context.beginPath()
  context.arc(sizePx / 2, sizePx / 2, 11, 0, Math.PI * 2)
  context.fillStyle = fill
  context.fill()
  context.strokeStyle = colorOf('none')
  context.lineWidth = 2
  context.stroke()
  return pixels(context)
}

/** A tile of diagonal lines for areas without service. */
function hatch(): ImageData {
  const context = canvas(8, 8)
  context.strokeStyle = noServiceColor
  context.lineWidth = 1.6
  context.beginPath()
  for (const offset of [-8, 0, 8]) {
    context.moveTo(offset, 8)
    context.lineTo(offset + 8, 0)
  }
  context.stroke()
  return pixels(context)
}

/** A mark beside a device that has an error (a triangle) or is disabled (a square with a bar). */
function statusMark(status: 'error' | 'disabled', outline: string): ImageData {
  const context = canvas(14, 14)
  context.translate(7, 7)
  context.lineJoin = 'round'
  context.beginPath()
  if (status === 'error') {
    context.moveTo(0, -5)
    context.lineTo(5, 4.5)
    context.lineTo(-5, 4.5)
    context.closePath()
  } else context.rect(-4.5, -4.5, 9, 9)
  context.strokeStyle = outline
  context.lineWidth = 2.5
  context.stroke()
  context.fillStyle = status === 'error' ? '#d7191c' : '#6b7280'
  context.fill()
  context.strokeStyle = '#ffffff'
  context.lineWidth = 1.5
  context.beginPath()
  if (status === 'error') {
    context.moveTo(0, -2)
    context.lineTo(0, 1.6)
    context.moveTo(0, 2.6)
    context.lineTo(0, 3.6)
  } else {
    context.moveTo(-2.5, 0)
    context.lineTo(2.5, 0)
  }
  context.stroke()
  return pixels(context)
}

function townDot(fill: string, outline: string): ImageData {
  const context = canvas(8, 8)
  context.beginPath()
  context.arc(4, 4, 2.2, 0, Math.PI * 2)
  context.fillStyle = fill
  context.fill()
  context.strokeStyle = outline
  context.lineWidth = 1
  context.stroke()
  return pixels(context)
}

/** A tile of dots over areas with few measurements. */
function dots(color: string): ImageData {
  const context = canvas(6, 6)
  context.fillStyle = color
  for (const [x, y] of [
    [1.5, 1.5],
    [4.5, 4.5],
  ] as const) {
    context.beginPath()
    context.arc(x, y, 1, 0, Math.PI * 2)
    context.fill()
  }
  return pixels(context)
}

let ruler: CanvasRenderingContext2D | undefined

/** Draws a place name as an image, because the map has no font server. */
export function labelImage(text: string, color: string, halo: string): ImageData {
  const font = '600 12px "Inter Variable", "Segoe UI", system-ui, "Liberation Sans", sans-serif'
  ruler ??= canvas(1, 1)
  ruler.font = font
  const width = Math.ceil(ruler.measureText(text).width) + 8
  const context = canvas(width, 20)
  context.font = font
  context.textBaseline = 'middle'
  context.lineJoin = 'round'
  context.strokeStyle = halo
  context.lineWidth = 3
  context.strokeText(text, 4, 10)
  context.fillStyle = color
  context.fillText(text, 4, 10)
  return pixels(context)
}

/** Returns the marker images by name, for one theme. */
export function markerImages({ outline, surface, land, label }: MapTheme): Map<string, ImageData> {
  const images = new Map([
    ['hatch', hatch()],
    ['dots', dots(land)],
    [`${statusIcon}error`, statusMark('error', outline)],
    [`${statusIcon}disabled`, statusMark('disabled', outline)],
    [zoneNumberIcon, zoneNumberDisc(surface)],
    [townDotIcon, townDot(label, land)],
  ])
  for (const shape of ['moving', 'standing', 'silent'] as const)
    for (const quality of [...qualities, null])
      images.set(iconName(shape, quality), deviceIcon(shape, quality, outline))
  return images
}

export const iconPixelRatio = ratio
