import type { SharedWords } from '#core/shared-words'
import { createRowPages, type RowPages } from '#fleet-map/live/row-pages'
import type { OngoingDwellRow } from '#questdb/fleet/dwells'
import type { PositionRow, SignalRow } from '#questdb/fleet/fleet-gps'

/** What the map knows of its devices by telemetry, by ordinal. */
export type DeviceRows = {
  locations: RowPages<PositionRow>
  signals: RowPages<SignalRow>
  dwells: RowPages<OngoingDwellRow>
}

export const createDeviceRows = (shared: SharedWords): DeviceRows => ({
  locations: createRowPages(
    { numbers: ['tsMs', 'lat', 'lon', 'accuracyM', 'speedMps', 'headingDeg'], words: ['fix'] },
    shared,
  ),
  signals: createRowPages(
    {
      numbers: ['tsMs', 'rsrpDbm', 'rsrqDb', 'sinrDb', 'nrRsrpDbm', 'alignErrorM', 'lat', 'lon'],
      words: ['rat', 'plmn', 'operatorName', 'quality', 'qualityBasis', 'alignment'],
    },
    shared,
  ),
  dwells: createRowPages({ numbers: ['arrivedAtMs', 'lat', 'lon', 'radiusM'], words: [] }, shared),
})
