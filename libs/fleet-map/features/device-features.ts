import {
  type FeaturePage,
  type FeatureRequest,
  type FeatureSources,
  type IdentifiedFeature,
  noFeatures,
} from '#fleet-map/features/feature-page'
import { positionMinutes } from '#fleet-map/features/feature-times'
import { flatDeviceShaper, selectPaths } from '#fleet-map/gps/device-columns'
import { type PlaceById, readDevicesById } from '#fleet-map/gps/devices-by-id'
import { pointFeature } from '#fleet-map/gps/formats'
import { type GpsQuery, openGps } from '#fleet-map/gps/gps-request'
import type { ShownDevice } from '#fleet-map/selection/filter'
import { lazily } from '#http/json-chunks'

const isDeviceId = (id: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)

/** A page of devices at their last position, in the order of their ids after one with a position. */
export async function deviceFeatures(sources: FeatureSources, request: FeatureRequest): Promise<FeaturePage> {
  const { ctx, fleet, reader } = sources
  const { orgId, bbox, times, limit, nowMs, after, id } = request
  if (id !== undefined && !isDeviceId(id)) return noFeatures
  const query: GpsQuery = {
    ...{ orgId, bbox, locatedMs: times, include: ['devices'], format: 'geojson' },
    ...{ sinceMinutes: positionMinutes(times, nowMs), deviceId: id === undefined ? undefined : [id] },
  }
  const place = after === undefined ? undefined : (JSON.parse(after) as PlaceById)
  const page = await readDevicesById(ctx, fleet, reader, await openGps(ctx, query), { after: place, limit })
  const shape = flatDeviceShaper(selectPaths(undefined, false))
  const featureOf = (shown: ShownDevice): IdentifiedFeature => ({
    id: shown.device.entry.deviceId,
    ...pointFeature('device', shown.location?.lat, shown.location?.lon, shape(shown, page.nowMs)),
  })
  return {
    features: lazily(page.devices, featureOf),
    count: page.devices.length,
    nextAfter: page.next && JSON.stringify(page.next),
    numberMatched: page.matched,
  }
}
