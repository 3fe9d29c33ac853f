import { dwellPaths, dwellView } from '#fleet-map/dwells/dwell-view'
import { clusterDevices } from '#fleet-map/gps/clusters'
import { deviceColumns, deviceShaper, selectPaths } from '#fleet-map/gps/device-columns'
import { cellFeature, columnar, lineFeature, pointFeature } from '#fleet-map/gps/formats'
import type { GpsPicture } from '#fleet-map/gps/gps-picture'
import type { GpsRequest } from '#fleet-map/gps/gps-request'
import { thresholds } from '#fleet-map/thresholds'
import { type LazyArray, lazily } from '#http/json-chunks'
import type { CoverageCell } from '#questdb/votes/coverage-cells'

export const gpsContentTypes = {
  json: 'application/json',
  columnar: 'application/json',
  geojson: 'application/geo+json',
} as const

const cellPaths = [
  'h3',
  'samples',
  'devices',
  'serviceRatio',
  'rsrpDbm.p10',
  'rsrpDbm.p50',
  'rsrpDbm.p90',
  'sinrDb.p10',
  'sinrDb.p50',
  'quality',
  'confidence',
  'lastAt',
]
const trailPaths = ['deviceId', 'ts', 'lat', 'lon', 'rat', 'rsrpDbm', 'sinrDb', 'quality']
const clusterPaths = ['lat', 'lon', 'devices']

/**
 * The response in the requested format, for `jsonChunks`. Long lists are generated item by item. The caller seals
 * `nextCursor`.
 */
export async function gpsBody(
  picture: GpsPicture,
  { query }: GpsRequest,
  nextCursor: string | null,
): Promise<Record<string, unknown>> {
  const { asOf, window, h3Resolution, gone } = picture
  const head = { asOf, window, h3Resolution }
  const tail = { gone, thresholds, nextCursor }
  if (query.format === 'geojson')
    return { type: 'FeatureCollection', ...head, features: features(picture, query), ...tail }
  const parts = query.format === 'columnar' ? await columnarParts(picture, query) : jsonParts(picture, query)
  return { ...head, ...parts, ...tail }
}

type Query = GpsRequest['query']

/** Combines devices into clusters if requested. */
function gathered({ selection: { devices } }: GpsPicture, { cluster, zoom }: Query) {
  if (!cluster || zoom === undefined) return { singles: devices, clusters: undefined }
  return clusterDevices(devices, zoom)
}

function jsonParts(picture: GpsPicture, query: Query) {
  const { singles, clusters } = gathered(picture, query)
  const shape = deviceShaper(selectPaths(query.fields))
  return {
    devices: lazily(singles, (shown) => shape(shown, picture.nowMs)),
    ...(clusters && { clusters }),
    coverage: cells(picture),
    dwells: dwells(picture),
    ...(picture.trails && { trails: trails(picture.trails) }),
  }
}

async function columnarParts(picture: GpsPicture, query: Query) {
  const { singles, clusters } = gathered(picture, query)
  const points =
    picture.trails &&
    trails(picture.trails).flatMap(({ deviceId, points }) => points.map((point) => ({ deviceId, ...point })))
  return {
    devices: deviceColumns(selectPaths(query.fields), singles, picture.nowMs),
    ...(clusters && { clusters: await columnar(clusters, clusterPaths) }),
    coverage: await columnar(cells(picture), cellPaths),
    dwells: await columnar(dwells(picture), dwellPaths),
    ...(points && { trails: await columnar(points, trailPaths) }),
  }
}

function features(picture: GpsPicture, query: Query): LazyArray {
  const { singles, clusters = [] } = gathered(picture, query)
  const shape = deviceShaper(selectPaths(query.fields))
  return {
    *[Symbol.iterator]() {
      for (const shown of singles) {
        yield pointFeature('device', shown.location?.lat, shown.location?.lon, shape(shown, picture.nowMs))
      }
      for (const { lat, lon, ...cluster } of clusters) yield pointFeature('cluster', lat, lon, cluster)
      for (const cell of cells(picture)) yield cellFeature(cell.h3, cell)
      for (const dwell of dwells(picture)) yield pointFeature('dwell', dwell.lat, dwell.lon, dwell)
      for (const { deviceId, points } of trails(picture.trails ?? new Map())) {
        const coordinates = points.map(({ lat, lon }): [number, number] => [lon, lat])
        yield lineFeature('trail', coordinates, { deviceId, ts: points.map(({ ts }) => ts) })
      }
    },
  }
}

/** A cell in the response. A cell that lost its last vote has no votes. */
function cells({ coverage }: GpsPicture) {
  return lazily(coverage, ({ item, isGone }) => (isGone ? emptyCell(item) : plainCell(item)))
}

function plainCell({ byRat: _byRat, byPlmn: _byPlmn, ...cell }: CoverageCell) {
  return cell
}

const emptyCell = ({ h3, lastAt }: CoverageCell) => ({
  h3,
  samples: 0,
  devices: 0,
  serviceRatio: 0,
  rsrpDbm: { p10: null, p50: null, p90: null },
  sinrDb: { p10: null, p50: null },
  quality: null,
  confidence: 'low' as const,
  lastAt,
})

/** A dwell in the response. A dwell that late data removed is marked as withdrawn. */
function dwells({ dwells, nowMs }: GpsPicture) {
  return lazily(dwells, ({ item, isGone }) => ({
    ...dwellView(item.row, item.signal, nowMs),
    ...(isGone && { withdrawn: true }),
  }))
}

function trails(byDevice: NonNullable<GpsPicture['trails']>) {
  return [...byDevice].map(([deviceId, points]) => ({
    deviceId,
    points: points.map(({ tsMs, ...point }) => ({ ts: new Date(tsMs).toISOString(), ...point })),
  }))
}
