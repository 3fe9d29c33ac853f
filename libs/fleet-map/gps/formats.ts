import { cellToBoundary } from 'h3-js'
import { isoTime } from '#core/iso-time'
import { forEachInSlices } from '#core/slices'
import { polygonGeometry, splitLine } from '#telemetry/geo/antimeridian'

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

/** The hexagon of a cell, in parts across the antimeridian. Rings are closed and counter-clockwise, as RFC 7946 requires. */
export const cellFeature = (h3: string, item: Item): Feature => ({
  type: 'Feature',
  geometry: polygonGeometry(cellToBoundary(h3, true)),
  properties: { feature: 'cell', ...item },
})

/**
 * A line through points in order of time. Its property `ts` has the time of each position. Across the antimeridian, the line and
 * `ts` are lists of parts.
 */
export function trailFeature(points: readonly { lat: number; lon: number; tsMs: number }[], item: Item): Feature {
  const parts = splitLine(points.map(({ lat, lon, tsMs }): [number, number, number] => [lon, lat, tsMs]))
  const lines = parts.map((part) => part.map(([lon, lat]) => [lon, lat]))
  const times = parts.map((part) => part.map(([, , tsMs = 0]) => isoTime(Math.round(tsMs))))
  const [line, ...others] = lines
  const geometry =
    others.length > 0
      ? { type: 'MultiLineString', coordinates: lines }
      : line && line.length > 1
        ? { type: 'LineString', coordinates: line }
        : null
  const ts = others.length > 0 ? times : (times[0] ?? [])
  return { type: 'Feature', geometry, properties: { feature: 'trail', ...item, ts } }
}
