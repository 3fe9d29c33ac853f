import type { SharedWords } from '#core/shared-words'
import { createModemStates, type ModemStates } from '#fleet-map/live/modem-states'
import { createRowPages, type RowPages } from '#fleet-map/live/row-pages'
import type { OngoingDwellRow } from '#questdb/fleet/dwells'
import type { PositionRow, SignalRow } from '#questdb/fleet/fleet-gps'

/** What the map knows of its devices by telemetry, by ordinal. */
export type DeviceRows = {
  locations: RowPages<PositionRow>
  /** Of the active modem. */
  signals: RowPages<SignalRow>
  modems: ModemStates
  dwells: RowPages<OngoingDwellRow>
}

export const createDeviceRows = (shared: SharedWords): DeviceRows => ({
  locations: createRowPages(
    { numbers: ['tsMs', 'lat', 'lon', 'accuracyM', 'speedMps', 'headingDeg'], words: ['fix'] },
    shared,
  ),
  signals: createRowPages(
    {
      numbers: ['tsMs', 'rsrpDbm', 'rsrqDb', 'sinrDb', 'nrRsrpDbm', 'alignErrorM', 'lat', 'lon', 'completedFromMs'],
      words: ['modem', 'rat', 'plmn', 'operatorName', 'quality', 'qualityBasis', 'alignment'],
    },
    shared,
  ),
  modems: createModemStates(),
  dwells: createRowPages({ numbers: ['arrivedAtMs', 'lat', 'lon', 'radiusM'], words: [] }, shared),
})
