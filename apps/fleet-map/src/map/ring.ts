import { colorOf, qualities } from './palette.ts'

const prefix = 'ring-'
const parts = 16

/** The outer radius and the width of the ring in the image, in pixels. The map scales the image. */
export const ringRadiusPx = 24
const widthPx = 5

/**
 * Returns the name of the image that shows the shares of the quality classes as a ring. Shares are rounded to sixteenths,
 * so that few images are necessary; a class with devices has at least one.
 */
export function ringName(byQuality: readonly number[]): string {
  const total = byQuality.reduce((sum, devices) => sum + devices, 0)
  const shares = byQuality.map((devices) => (devices === 0 ? 0 : Math.max(1, Math.round((devices / total) * parts))))
  const largest = shares.indexOf(Math.max(...shares))
  const excess = shares.reduce((sum, share) => sum + share, 0) - parts
  shares[largest] = (shares[largest] ?? 0) - excess
  return prefix + shares.join('-')
}

/** Draws the ring with this name; undefined for names of other images. */
export function ringImage(name: string, outline: string, ratio: number): ImageData | undefined {
  if (!name.startsWith(prefix)) return undefined
  const size = (ringRadiusPx + 1) * 2
  const element = document.createElement('canvas')
  element.width = size * ratio
  element.height = size * ratio
  const context = element.getContext('2d', { willReadFrequently: true })
  if (!context) return undefined
  context.scale(ratio, ratio)
  context.translate(size / 2, size / 2)
  const radius = ringRadiusPx - widthPx / 2
  context.lineWidth = widthPx + 1.6
  context.strokeStyle = outline
  context.beginPath()
  context.arc(0, 0, radius, 0, Math.PI * 2)
  context.stroke()
  context.lineWidth = widthPx
  let from = -Math.PI / 2
  for (const [quality, share] of name.slice(prefix.length).split('-').map(Number).entries()) {
    const to = from + (share / parts) * Math.PI * 2
    context.strokeStyle = colorOf(qualities[quality] ?? null)
    context.beginPath()
    context.arc(0, 0, radius, from, to)
    if (share > 0) context.stroke()
    from = to
  }
  return context.getImageData(0, 0, element.width, element.height)
}
