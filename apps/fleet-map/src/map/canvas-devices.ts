import type { MapDevice } from '../api/types.ts'
import type { PixelOf } from './canvas-camera.ts'
import { traceShape } from './icons.ts'
import { colorOf, noServiceColor } from './palette.ts'
import { type MapTheme, shapeOf } from './surface.ts'

const marginPx = 20
const clickRadiusPx = 14

/** Draws the devices inside the canvas, and a ring around the selected one. */
export function drawDevices(
  context: CanvasRenderingContext2D,
  { devices, selectedId }: { devices: readonly MapDevice[]; selectedId: string | null },
  { width, height }: { width: number; height: number },
  pixelOf: PixelOf,
  { text, outline }: MapTheme,
): void {
  const nowMs = Date.now()
  for (const device of devices) {
    if (!device.location) continue
    const [x, y] = pixelOf([device.location.lon, device.location.lat])
    if (x < -marginPx || y < -marginPx || x > width + marginPx || y > height + marginPx) continue
    const shape = shapeOf(device, nowMs)
    context.save()
    context.translate(x, y)
    if (shape === 'moving') context.rotate(((device.location.headingDeg ?? 0) * Math.PI) / 180)
    if (device.deviceId === selectedId) {
      context.strokeStyle = text
      context.lineWidth = 1.5
      context.beginPath()
      context.arc(0, 0, 15, 0, Math.PI * 2)
      context.stroke()
    }
    traceShape(context, shape, 7)
    context.strokeStyle = shape === 'silent' ? noServiceColor : outline
    context.lineWidth = 2
    context.stroke()
    if (shape !== 'silent') {
      context.fillStyle = device.signal?.rat === 'none' ? colorOf('none') : colorOf(device.signal?.quality ?? null)
      context.fill()
    }
    context.restore()
  }
}

/** Returns the id of the device nearest to a pixel; null when none is near it. */
export function deviceAt(x: number, y: number, devices: readonly MapDevice[], pixelOf: PixelOf): string | null {
  let nearest: { id: string | null; distancePx: number } = { id: null, distancePx: clickRadiusPx }
  for (const { deviceId, location } of devices) {
    if (!location) continue
    const [deviceX, deviceY] = pixelOf([location.lon, location.lat])
    const distancePx = Math.hypot(deviceX - x, deviceY - y)
    if (distancePx < nearest.distancePx) nearest = { id: deviceId, distancePx }
  }
  return nearest.id
}
