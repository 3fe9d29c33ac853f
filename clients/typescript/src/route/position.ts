/** Longitude and latitude in degrees. */
export type Position = [lon: number, lat: number]

/** Lines in the order of a file, and what else it has, such as "2 waypoints". */
export type FoundLines = { lines: Position[][]; skipped: string[] }

/** A file without a usable route. The message is a sentence for the person who opened the file. */
export class RouteFileError extends Error {}

/** Returns a position. Throws a RouteFileError that begins with the place, such as "Point 2 of route 1". */
export function positionOf(lon: unknown, lat: unknown, place: () => string): Position {
  const x = degrees('longitude', lon, 360, place)
  // Some programs continue beyond 180° instead of starting again at −180°.
  return [Math.abs(x) <= 180 ? x : x - 360 * Math.sign(x), degrees('latitude', lat, 90, place)]
}

function degrees(name: string, value: unknown, most: number, place: () => string): number {
  if (typeof value === 'number' && Math.abs(value) <= most) return value
  throw new RouteFileError(`${place()} ${faultOf(name, value, most)}`)
}

function faultOf(name: string, value: unknown, most: number): string {
  if (value === undefined || value === null) return `has no ${name}.`
  if (value === '') return `has an empty ${name}.`
  const shown = `has the ${name} ${JSON.stringify(value).slice(0, 40)}.`
  if (typeof value === 'number') return `${shown} It must be between −${most} and ${most} degrees.`
  return `${shown} ${/^[+-]?\d+,\d+$/.test(String(value)) ? 'Use a decimal point.' : 'It must be a number.'}`
}
