import { mapInSlices } from '#core/slices'
import {
  type FeaturePage,
  type FeatureRequest,
  type FeatureSources,
  type IdentifiedFeature,
  noFeatures,
} from '#fleet-map/features/feature-page'
import { positionMinutes } from '#fleet-map/features/feature-times'
import { deviceColumns, selectPaths } from '#fleet-map/gps/device-columns'
import { type PlaceById, readDevicesById } from '#fleet-map/gps/devices-by-id'
import { pointFeature } from '#fleet-map/gps/formats'
import { type GpsQuery, openGps } from '#fleet-map/gps/gps-request'
import type { ShownDevice } from '#fleet-map/selection/filter'

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
  return {
    features: await featuresOf(page.devices, page.nowMs),
    nextAfter: page.next && JSON.stringify(page.next),
    numberMatched: page.matched,
  }
}

/** With `signal_rsrpDbm` for `signal.rsrpDbm`, null where a device has no such value. */
function featuresOf(devices: readonly ShownDevice[], nowMs: number): Promise<IdentifiedFeature[]> {
  const columns = Object.entries(deviceColumns(selectPaths(undefined, false), devices, nowMs))
  const named = columns.map(([path, values]) => [path.replace('.', '_'), values] as const)
  return mapInSlices(devices.entries(), ([row, { device, location }]) => {
    const properties = Object.fromEntries(named.map(([name, values]) => [name, values[row]]))
    return { id: device.entry.deviceId, ...pointFeature('device', location?.lat, location?.lon, properties) }
  })
}
