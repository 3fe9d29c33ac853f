import { listDwells } from '#fleet-map/dwells/dwells'
import { listTrips } from '#fleet-map/dwells/trips'
import {
  type FeaturePage,
  type FeatureRequest,
  type FeatureSources,
  type IdentifiedFeature,
  listText,
  noFeatures,
  townProperties,
} from '#fleet-map/features/feature-page'
import { windowOf } from '#fleet-map/features/feature-times'
import { pointFeature } from '#fleet-map/gps/formats'
import { lazily } from '#http/json-chunks'
import { splitLine } from '#telemetry/geo/antimeridian'
import type { Point } from '#telemetry/geo/geo'

type Dwell = Awaited<ReturnType<typeof listDwells>>['items'][number]
type TripItem = Awaited<ReturnType<typeof listTrips>>['items'][number]

/** The most positions of the line of a trip. */
export const maxPositions = 500

/** The id of a dwell or a trip: its device, and its beginning in milliseconds. A lookup needs both. */
const idAt = (deviceId: string, begunAt: string): string => `${deviceId}.${Date.parse(begunAt)}`

function partsOf(id: string): { deviceId: string; atMs: number } | undefined {
  const [, deviceId, ms] = /^([0-9a-f-]{36})\.(\d{1,14})$/.exec(id) ?? []
  return deviceId === undefined ? undefined : { deviceId, atMs: Number(ms) }
}

/** A page of dwells at their centres, newest arrival first. */
export async function dwellFeatures(sources: FeatureSources, request: FeatureRequest): Promise<FeaturePage> {
  const { ctx, fleet, reader } = sources
  const { orgId, bbox, limit, after, id, nowMs } = request
  const wanted = id === undefined ? undefined : partsOf(id)
  if (id !== undefined && !wanted) return noFeatures
  const times = wanted ? { fromMs: wanted.atMs, toMs: wanted.atMs } : request.times
  const query = { orgId, bbox, limit, deviceId: wanted?.deviceId, ...windowOf(times, nowMs) }
  const { items, nextAfter } = await reader.heavy(() => listDwells(ctx, fleet, reader, query, after))
  return { features: lazily(items, dwellFeature), count: items.length, nextAfter }
}

/** A dwell at its centre. */
export function dwellFeature({ id: dwellId, near, places = [], ...dwell }: Dwell): IdentifiedFeature {
  const placeNames = listText(places.map(({ name }) => name))
  const properties = { dwellId, ...dwell, ...townProperties(near), placeNames }
  return { id: idAt(dwell.deviceId, dwell.arrivedAt), ...pointFeature('dwell', dwell.lat, dwell.lon, properties) }
}

/** A page of trips as lines, newest departure from a dwell first. */
export async function tripFeatures(sources: FeatureSources, request: FeatureRequest): Promise<FeaturePage> {
  if (request.id !== undefined) return oneTrip(sources, request, request.id)
  const { ctx, fleet, reader } = sources
  const { orgId, bbox, limit, after, times, nowMs } = request
  const query = { orgId, bbox, limit, maxPositions, ...windowOf(times, nowMs) }
  const { items, nextAfter } = await reader.heavy(() => listTrips(ctx, fleet, reader, query, after))
  return { features: lazily(items, tripFeature), count: items.length, nextAfter }
}

const tripsAtOnce = 4

/** The trip of an id. It is on the newest way of the device that began before it, unless that way has many trips. */
async function oneTrip({ ctx, fleet, reader }: FeatureSources, request: FeatureRequest, id: string) {
  const wanted = partsOf(id)
  if (!wanted) return noFeatures
  const { orgId, nowMs } = request
  const window = windowOf({ fromMs: null, toMs: wanted.atMs }, nowMs)
  const query = { orgId, deviceId: wanted.deviceId, limit: tripsAtOnce, maxPositions, ...window }
  for (let after: string | undefined; ; ) {
    const { items, nextAfter } = await reader.heavy(() => listTrips(ctx, fleet, reader, query, after))
    const isPast = items.some(({ departedAt }) => Date.parse(departedAt) <= wanted.atMs)
    if (isPast || nextAfter === null) return { features: items.map(tripFeature), count: items.length, nextAfter: null }
    after = nextAfter
  }
}

/** A trip as a line. */
export function tripFeature({ from, to, line = [], ...trip }: TripItem): IdentifiedFeature {
  return {
    type: 'Feature',
    id: idAt(trip.deviceId, trip.departedAt),
    geometry: lineGeometry(line),
    properties: { feature: 'trip', ...trip, ...endProperties('from_', from), ...endProperties('to_', to) },
  }
}

function endProperties(prefix: string, end: TripItem['from']) {
  const { lat = null, lon = null, near = null, placeId = null, placeName = null } = end ?? {}
  return {
    ...{ [`${prefix}lat`]: lat, [`${prefix}lon`]: lon },
    ...{ [`${prefix}placeId`]: placeId, [`${prefix}placeName`]: placeName },
    ...townProperties(near, prefix),
  }
}

/** The line through points, in parts across the antimeridian. */
function lineGeometry(points: readonly Point[]) {
  const [line = [], ...others] = splitLine(points.map(({ lat, lon }): [number, number] => [lon, lat]))
  return others.length > 0
    ? { type: 'MultiLineString', coordinates: [line, ...others] }
    : { type: 'LineString', coordinates: line }
}
