import type { LonLat } from './geometry.ts'

// Five decimals are about a metre.
const scale = 1e5

// Between lines. The polyline format does not use it, and an address keeps it as it is.
const separator = '.'

/** Encodes lines in Google's polyline format, separated by points. */
export const encodeLines = (lines: readonly Line[]): string => lines.map(encodePolyline).join(separator)

/** Decodes lines. Returns none if one of them is invalid. */
export function decodeLines(text: string): LonLat[][] {
  const lines = text.split(separator).map(decodePolyline)
  return lines.every(({ length }) => length >= 2) ? lines : []
}

type Line = readonly (readonly [lon: number, lat: number])[]

function encodePolyline(path: Line): string {
  let [lastLat, lastLon] = [0, 0]
  let text = ''
  for (const [lon, lat] of path) {
    const [nextLat, nextLon] = [Math.round(lat * scale), Math.round(lon * scale)]
    text += encodeNumber(nextLat - lastLat) + encodeNumber(nextLon - lastLon)
    ;[lastLat, lastLon] = [nextLat, nextLon]
  }
  return text
}

function encodeNumber(value: number): string {
  let rest = value < 0 ? ~(value << 1) : value << 1
  let text = ''
  while (rest >= 0x20) {
    text += String.fromCharCode((0x20 | (rest & 0x1f)) + 63)
    rest >>>= 5
  }
  return text + String.fromCharCode(rest + 63)
}

/** Returns an empty path for an invalid text. */
function decodePolyline(text: string): LonLat[] {
  const path: LonLat[] = []
  const numbers: number[] = []
  let [value, shift] = [0, 0]
  for (const letter of text) {
    const bits = letter.charCodeAt(0) - 63
    if (bits < 0 || bits > 63) return []
    value |= (bits & 0x1f) << shift
    shift += 5
    if (bits >= 0x20) continue
    numbers.push(value & 1 ? ~(value >> 1) : value >> 1)
    ;[value, shift] = [0, 0]
  }
  let [lat, lon] = [0, 0]
  for (let index = 0; index + 1 < numbers.length; index += 2) {
    lat += numbers[index] ?? 0
    lon += numbers[index + 1] ?? 0
    path.push([lon / scale, lat / scale])
  }
  return path.every(([x, y]) => Math.abs(x) <= 180 && Math.abs(y) <= 90) ? path : []
}
