import { thresholds } from '#fleet-map/coverage/thresholds'
import { dwellPaths, dwellView } from '#fleet-map/dwells/dwell-view'
import { clusterDevices } from '#fleet-map/gps/clusters'
import { deviceColumns, deviceShaper, selectPaths } from '#fleet-map/gps/device-columns'
import { cellFeature, columnar, pointFeature, trailFeature } from '#fleet-map/gps/formats'
import type { GpsRequest } from '#fleet-map/gps/gps-request'
import type { MapData } from '#fleet-map/gps/map-data'
import { type LazyArray, lazily } from '#http/json-chunks'
import type { DatedCoverageCell } from '#questdb/votes/coverage-cells'

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
const trailPaths = ['deviceId', 'ts', 'lat', 'lon', 'modem', 'rat', 'rsrpDbm', 'sinrDb', 'quality']
const clusterPaths = ['lat', 'lon', 'devices']

/**
 * The response in the requested format, for `jsonChunks`. Long lists are generated item by item. The caller seals
 * `nextCursor`.
 */
export async function gpsBody(
  data: MapData,
  { query }: GpsRequest,
  nextCursor: string | null,
): Promise<Record<string, unknown>> {
  const { asOf, window, h3Resolution, gone } = data
  const head = { asOf, window, h3Resolution }
  const tail = { gone, thresholds, nextCursor }
  if (query.format === 'geojson')
    return { type: 'FeatureCollection', ...head, features: features(data, query), ...tail }
  const parts = query.format === 'columnar' ? await columnarParts(data, query) : jsonParts(data, query)
  return { ...head, ...parts, ...tail }
}

type Query = GpsRequest['query']

const pathsOf = ({ fields, include }: Query) => selectPaths(fields, include?.includes('modems') ?? false)

/** Combines devices into clusters if requested. */
function gathered({ selection: { devices } }: MapData, { cluster, zoom }: Query) {
  if (!cluster || zoom === undefined) return { singles: devices, clusters: undefined }
  return clusterDevices(devices, zoom)
}

function jsonParts(data: MapData, query: Query) {
  const { singles, clusters } = gathered(data, query)
  const shape = deviceShaper(pathsOf(query))
  return {
    devices: lazily(singles, (shown) => shape(shown, data.nowMs)),
    ...(clusters && { clusters }),
    coverage: cells(data),
    dwells: dwells(data),
    ...(data.trails && { trails: trails(data.trails) }),
  }
}

async function columnarParts(data: MapData, query: Query) {
  const { singles, clusters } = gathered(data, query)
  const points =
    data.trails &&
    trails(data.trails).flatMap(({ deviceId, points }) => points.map((point) => ({ deviceId, ...point })))
  return {
    devices: deviceColumns(pathsOf(query), singles, data.nowMs),
    ...(clusters && { clusters: await columnar(clusters, clusterPaths) }),
    coverage: await columnar(cells(data), cellPaths),
    dwells: await columnar(dwells(data), dwellPaths),
    ...(points && { trails: await columnar(points, trailPaths) }),
  }
}

function features(data: MapData, query: Query): LazyArray {
  const { singles, clusters = [] } = gathered(data, query)
  const shape = deviceShaper(pathsOf(query))
  return {
    *[Symbol.iterator]() {
      for (const shown of singles) {
        yield pointFeature('device', shown.location?.lat, shown.location?.lon, shape(shown, data.nowMs))
      }
      for (const { lat, lon, ...cluster } of clusters) yield pointFeature('cluster', lat, lon, cluster)
      for (const cell of cells(data)) yield cellFeature(cell.h3, cell)
      for (const dwell of dwells(data)) yield pointFeature('dwell', dwell.lat, dwell.lon, dwell)
      for (const [deviceId, points] of data.trails ?? []) yield trailFeature(points, { deviceId })
    },
  }
}

/** A cell in the response. A cell that lost its last vote has no votes. */
function cells({ coverage }: MapData) {
  return lazily(coverage, ({ item, isGone }) => (isGone ? emptyCell(item) : plainCell(item)))
}

function plainCell({ byRat: _byRat, byPlmn: _byPlmn, ...cell }: DatedCoverageCell) {
  return cell
}

const emptyCell = ({ h3, lastAt }: DatedCoverageCell) => ({
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
function dwells({ dwells, nowMs }: MapData) {
  return lazily(dwells, ({ item, isGone }) => ({
    ...dwellView(item.row, item.signal, nowMs),
    ...(isGone && { withdrawn: true }),
  }))
}

function trails(byDevice: NonNullable<MapData['trails']>) {
  return [...byDevice].map(([deviceId, points]) => ({
    deviceId,
    points: points.map(({ tsMs, ...point }) => ({ ts: new Date(tsMs).toISOString(), ...point })),
  }))
}
