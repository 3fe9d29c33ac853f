import type { TileLayerName } from '#fleet-map/tiles/tile-feature'
import type { WindowQuery } from '#fleet-map/window'
import type { BoundingBox } from '#telemetry/geo/geo'

/** Which devices a query is about; without `orgId`, devices of all organizations that the caller can read. */
type DeviceQuery = {
  orgId?: string | undefined
  groupId?: string | undefined
  /** The devices must have all of these tags. */
  tag?: string[] | undefined
  bbox?: BoundingBox | undefined
}

/** A time in the past instead of the time until now. */
type PastQuery = { from?: Date | undefined; to?: Date | undefined }

export type CoverageQuery = DeviceQuery &
  PastQuery & {
    sinceMinutes: number
    /** Zoom of the map. It sets the resolution unless `h3Resolution` does. */
    zoom?: number | undefined
    h3Resolution?: number | undefined
    rat?: string | undefined
    plmn?: string | undefined
  }

/** The parts of a fleet GPS response. */
export const includable = ['devices', 'coverage', 'dwells', 'trails'] as const
export type Included = (typeof includable)[number]

export type GpsQuery = Omit<CoverageQuery, keyof PastQuery> & {
  placeId?: string | undefined
  /** Only these devices. Does not apply to coverage and dwells. */
  deviceId?: string[] | undefined
  /** Paths or groups of `deviceFieldNames`. */
  fields?: string[] | undefined
  include?: Included[] | undefined
  cluster?: boolean | undefined
  format: 'json' | 'columnar' | 'geojson'
  /** The `asOf` of an earlier response. */
  since?: string | undefined
  cursor?: string | undefined
}

export type TilesQuery = Omit<DeviceQuery, 'bbox'> &
  PastQuery & {
    sinceMinutes: number
    status?: string | undefined
    rat?: string | undefined
    plmn?: string | undefined
    layers?: TileLayerName[] | undefined
  }

export type DeadZonesQuery = DeviceQuery &
  PastQuery & { sinceMinutes: number; plmn?: string | undefined; limit: number }

export type SignalTrendQuery = Omit<DeviceQuery, 'bbox'> & {
  sinceMinutes: number
  rat?: string | undefined
  plmn?: string | undefined
}

export type DwellsQuery = DeviceQuery &
  WindowQuery & {
    deviceId?: string | undefined
    placeId?: string | undefined
    minDurationS?: number | undefined
    ongoing?: boolean | undefined
    limit: number
  }

export type ForecastRequest = {
  path: { lat: number; lon: number }[]
  orgId?: string | undefined
  sinceMinutes: number
  /** Length of a segment in metres. */
  everyM: number
  plmn?: string | undefined
}
