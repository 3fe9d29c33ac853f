import { mapInSlices } from '#core/slices'
import type { FeaturePage, FeatureRequest, FeatureSources, IdentifiedFeature } from '#fleet-map/features/feature-page'
import { noFeatures } from '#fleet-map/features/feature-page'
import { positionMinutes } from '#fleet-map/features/feature-times'
import { deviceColumns, selectPaths } from '#fleet-map/gps/device-columns'
import { pointFeature } from '#fleet-map/gps/formats'
import { type GpsCursor, type GpsQuery, openGps } from '#fleet-map/gps/gps-request'
import { type MapData, readGps } from '#fleet-map/gps/map-data'

const isDeviceId = (id: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)

/** A page of devices at their last position, in the order of the fleet map. */
export async function deviceFeatures(sources: FeatureSources, request: FeatureRequest): Promise<FeaturePage> {
  const { ctx, fleet, reader } = sources
  const { orgId, bbox, times, limit, nowMs, after, id } = request
  if (id !== undefined && !isDeviceId(id)) return noFeatures
  const query: GpsQuery = {
    ...{ orgId, bbox, limit, locatedMs: times, include: ['devices'], format: 'geojson' },
    ...{ sinceMinutes: positionMinutes(times, nowMs), deviceId: id === undefined ? undefined : [id] },
  }
  const cursor = after === undefined ? undefined : (JSON.parse(after) as GpsCursor)
  const data = await readGps(ctx, fleet, reader, await openGps(ctx, query, cursor))
  return {
    features: await featuresOf(data),
    nextAfter: data.next && JSON.stringify(data.next),
    numberMatched: data.matched,
  }
}

/** With `signal_rsrpDbm` for `signal.rsrpDbm`, null where a device has no such value. */
async function featuresOf({ selection: { devices }, nowMs }: MapData): Promise<IdentifiedFeature[]> {
  const columns = Object.entries(deviceColumns(selectPaths(undefined, false), devices, nowMs))
  const named = columns.map(([path, values]) => [path.replace('.', '_'), values] as const)
  return mapInSlices(devices.entries(), ([row, { device, location }]) => {
    const properties = Object.fromEntries(named.map(([name, values]) => [name, values[row]]))
    return { id: device.entry.deviceId, ...pointFeature('device', location?.lat, location?.lon, properties) }
  })
}
