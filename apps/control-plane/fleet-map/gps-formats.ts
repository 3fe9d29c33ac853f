import { clusterDevices } from '#fleet-map/clusters'
import { deviceColumns, deviceShaper, selectPaths } from '#fleet-map/device-columns'
import { dwellPaths, dwellView } from '#fleet-map/dwell-view'
import { cellFeature, columnar, type Feature, lineFeature, pointFeature } from '#fleet-map/formats'
import type { CoverageCell } from '#questdb/coverage-cells'
import type { GpsPicture } from './gps.ts'
import type { GpsRequest } from './gps-request.ts'
import { thresholds } from './thresholds.ts'

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

/** The answer in the format asked for; `nextCursor` is filled in by whoever can seal it. */
export function gpsBody(
  picture: GpsPicture,
  { query }: GpsRequest,
  nextCursor: string | null,
): Record<string, unknown> {
  const { asOf, window, h3Resolution, gone } = picture
  const head = { asOf, window, h3Resolution }
  const tail = { gone, thresholds, nextCursor }
  if (query.format === 'geojson')
    return { type: 'FeatureCollection', ...head, features: features(picture, query), ...tail }
  const parts = query.format === 'columnar' ? columnarParts(picture, query) : jsonParts(picture, query)
  return { ...head, ...parts, ...tail }
}

type Query = GpsRequest['query']

/** Devices gathered into clusters where that was asked for. */
function gathered({ selection: { devices } }: GpsPicture, { cluster, zoom }: Query) {
  if (!cluster || zoom === undefined) return { singles: devices, clusters: undefined }
  return clusterDevices(devices, zoom)
}

function jsonParts(picture: GpsPicture, query: Query) {
  const { singles, clusters } = gathered(picture, query)
  const shape = deviceShaper(selectPaths(query.fields))
  return {
    devices: singles.map((shown) => shape(shown, picture.nowMs)),
    ...(clusters && { clusters }),
    coverage: cells(picture),
    dwells: dwells(picture),
    ...(picture.trails && { trails: trails(picture.trails) }),
  }
}

function columnarParts(picture: GpsPicture, query: Query) {
  const { singles, clusters } = gathered(picture, query)
  const points =
    picture.trails &&
    trails(picture.trails).flatMap(({ deviceId, points }) => points.map((point) => ({ deviceId, ...point })))
  return {
    devices: deviceColumns(selectPaths(query.fields), singles, picture.nowMs),
    ...(clusters && { clusters: columnar(clusters, clusterPaths) }),
    coverage: columnar(cells(picture), cellPaths),
    dwells: columnar(dwells(picture), dwellPaths),
    ...(points && { trails: columnar(points, trailPaths) }),
  }
}

function features(picture: GpsPicture, query: Query): Feature[] {
  const { singles, clusters = [] } = gathered(picture, query)
  const shape = deviceShaper(selectPaths(query.fields))
  return [
    ...singles.map((shown) =>
      pointFeature('device', shown.location?.lat, shown.location?.lon, shape(shown, picture.nowMs)),
    ),
    ...clusters.map(({ lat, lon, ...cluster }) => pointFeature('cluster', lat, lon, cluster)),
    ...cells(picture).map((cell) => cellFeature(cell.h3, cell)),
    ...dwells(picture).map((dwell) => pointFeature('dwell', dwell.lat, dwell.lon, dwell)),
    ...trails(picture.trails ?? new Map()).map(({ deviceId, points }) =>
      lineFeature(
        'trail',
        points.map(({ lat, lon }) => [lon, lat]),
        { deviceId, ts: points.map(({ ts }) => ts) },
      ),
    ),
  ]
}

/** What fleet GPS says of a cell; one that lost its last vote is there with none. */
function cells({ coverage }: GpsPicture) {
  return coverage.map(({ item, isGone }) => (isGone ? emptyCell(item) : plainCell(item)))
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

/** One that late data took away is there once more, marked as withdrawn. */
function dwells({ dwells, nowMs }: GpsPicture) {
  return dwells.map(({ item, isGone }) => ({
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
