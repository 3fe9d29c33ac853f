import { cellToBoundary } from 'h3-js'
import { forEachInSlices } from '#core/slices'

type Item = Record<string, unknown>
export type Feature = { type: 'Feature'; geometry: unknown; properties: Item }

/**
 * Converts objects to one array per dotted path, all of the same length, with null for a missing value. `paths` are
 * present even if the list is empty. Works in slices.
 */
export async function columnar(items: Iterable<Item>, paths: readonly string[]): Promise<Record<string, unknown[]>> {
  const columns: Record<string, unknown[]> = {}
  for (const path of paths) columns[path] = []
  let rows = 0
  await forEachInSlices(items, (item) => {
    for (const [path, value] of flatten(item)) {
      const column = columns[path] ?? []
      columns[path] = column
      while (column.length < rows) column.push(null)
      column.push(value)
    }
    rows++
  })
  for (const column of Object.values(columns)) while (column.length < rows) column.push(null)
  return columns
}

function flatten(item: Item, prefix = ''): [path: string, value: unknown][] {
  return Object.entries(item).flatMap(([name, value]): [string, unknown][] =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? flatten(value as Item, `${prefix}${name}.`)
      : [[`${prefix}${name}`, value]],
  )
}

/** A point feature (RFC 7946: longitude first); without a geometry if there is no position. */
export const pointFeature = (feature: string, lat: unknown, lon: unknown, item: Item): Feature => ({
  type: 'Feature',
  geometry: typeof lat === 'number' && typeof lon === 'number' ? { type: 'Point', coordinates: [lon, lat] } : null,
  properties: { feature, ...item },
})

/** The hexagon of a cell. Its ring is closed and counter-clockwise, as RFC 7946 requires. */
export const cellFeature = (h3: string, item: Item): Feature => ({
  type: 'Feature',
  geometry: { type: 'Polygon', coordinates: [cellToBoundary(h3, true)] },
  properties: { feature: 'cell', ...item },
})

/** A line through positions in order of time. */
export const lineFeature = (feature: string, coordinates: [lon: number, lat: number][], item: Item): Feature => ({
  type: 'Feature',
  geometry: coordinates.length > 1 ? { type: 'LineString', coordinates } : null,
  properties: { feature, ...item },
})
