import { getResolution, isValidCell } from 'h3-js'
import { z } from 'zod'
import { numberIn, soughtText, uuid } from '#core/schemas'
import { deviceStatuses } from '#fleet/devices/status'
import { deviceFieldNames } from '#fleet-map/gps/device-columns'
import { includable } from '#fleet-map/gps/gps-request'
import { tileLayerNames } from '#fleet-map/tiles/tile-feature'
import { fieldTable } from '#telemetry/report/fields'
import { boundingBox, operatorCode, signalQuery } from '../../http/geo-schemas.ts'
import { fileFormat, flag, instantIn, pageOrFileQuery, pageQuery, repeatable, wordList } from '../../http/schemas.ts'

const maxMinutes = 129_600
// The retention of dwells.
const maxDwellSeconds = 34_560_000

const window = { sinceMinutes: numberIn(z.number().int().min(1).max(maxMinutes)).prefault(1_440) }

const past = {
  from: instantIn().optional().describe('Start of a range in the past, with `to`. Replaces `sinceMinutes`.'),
  to: instantIn().optional().describe('End of the range.'),
}

/** `sinceMinutes` of a JSON body. */
export const sinceMinutes = (defaultMinutes: number) => z.number().int().min(1).max(maxMinutes).default(defaultMinutes)

const deviceFilter = {
  orgId: uuid()
    .optional()
    .describe('Returns data of this organization only. By default, all organizations that you can read are merged.'),
  groupId: uuid().optional(),
  tag: repeatable(soughtText(64)).optional().describe('Can be repeated. Returns devices that have all of these tags.'),
  bbox: boundingBox.optional(),
}

const placeId = uuid().optional().describe('Returns only what is inside this place.')

const coverageFilter = {
  ...deviceFilter,
  zoom: numberIn(z.number().min(0).max(24))
    .optional()
    .describe('Zoom of the map; sets the resolution of the response.'),
  h3Resolution: numberIn(z.number().int().min(4).max(10)).optional(),
  rat: z.enum(fieldTable.cellular.rat.words as [string, ...string[]]).optional(),
  plmn: operatorCode.optional(),
}

export const gpsQuery = z
  .strictObject({
    ...coverageFilter,
    placeId,
    ...window,
    deviceId: repeatable(uuid(), 100)
      .optional()
      .describe('Can be repeated. Returns only these devices. Does not apply to `coverage` and `dwells`.'),
    fields: wordList(deviceFieldNames as [string, ...string[]])
      .optional()
      .describe('Fields of each device to return: paths such as `signal.rsrpDbm`, or groups such as `location`.'),
    include: wordList(includable)
      .optional()
      .describe(
        'Parts to return: `devices`, `coverage` and `dwells` by default; also `trails`, whose points have the signal of the modem that was active then, and `modems`: the signal of each modem of a device.',
      ),
    cluster: flag().optional().describe('Combines devices that would overlap at `zoom`.'),
    format: z.enum(['json', 'columnar', 'geojson']).default('json'),
    since: z
      .string()
      .max(64)
      .optional()
      .describe('The `asOf` of an earlier response. Returns only changes since then.'),
    cursor: pageQuery.cursor,
  })
  .refine((query) => !query.cluster || query.zoom !== undefined, {
    path: ['zoom'],
    message: 'zoom is required with cluster.',
  })

const { bbox: _bbox, ...tileFilter } = deviceFilter

export const tilesQuery = z.strictObject({
  ...tileFilter,
  status: z.enum(deviceStatuses).optional().describe('Returns devices with this status.'),
  rat: coverageFilter.rat,
  plmn: coverageFilter.plmn,
  signal: signalQuery
    .optional()
    .describe('Can be repeated. Returns devices with a signal of one of these classes; `unknown`: without one.'),
  ...window,
  from: past.from.describe(
    'Start of a range in the past, with `to`. Replaces `sinceMinutes`. Devices are then where they were last in the range, with their signal of that time.',
  ),
  to: past.to,
  layers: wordList(tileLayerNames).optional().describe('Layers to return. By default, all layers.'),
})

export const signalTrendQuery = z.strictObject({
  ...tileFilter,
  rat: coverageFilter.rat,
  plmn: operatorCode.optional().describe('Uses only samples of this operator.'),
  ...window,
})

const h3Cell = z
  .string()
  .toLowerCase()
  .refine((h3) => isValidCell(h3) && getResolution(h3) >= 4 && getResolution(h3) <= 10, {
    error: 'Must be an H3 cell of resolution 4 to 10.',
  })

export const operatorsQuery = z
  .strictObject({
    ...deviceFilter,
    h3: h3Cell
      .optional()
      .describe('Counts only votes in this H3 cell, of resolution 4 to 10.')
      .meta({ example: '88195da49bfffff' }),
    placeId,
    rat: coverageFilter.rat,
    ...window,
    ...past,
  })
  .refine(({ h3, placeId, bbox }) => [h3, placeId, bbox].filter((area) => area !== undefined).length <= 1, {
    path: ['h3'],
    message: 'Send only one of h3, placeId and bbox.',
  })

const format = fileFormat(['json', 'csv', 'parquet'])

export const coverageQuery = z.strictObject({ ...coverageFilter, ...window, ...past, format })

export const deadZonesQuery = z.strictObject({
  ...deviceFilter,
  ...window,
  ...past,
  plmn: operatorCode.optional().describe('Uses only samples of this operator.'),
  zoneId: h3Cell.optional().describe('Returns only the zone with this `id`; none if it is no dead zone any more.'),
  ...pageQuery,
})

export const tripsQuery = z.strictObject({
  orgId: deviceFilter.orgId,
  groupId: deviceFilter.groupId,
  tag: deviceFilter.tag,
  deviceId: uuid().optional(),
  sinceMinutes: window.sinceMinutes.unwrap().optional(),
  from: instantIn().optional(),
  to: instantIn().optional(),
  ...pageOrFileQuery,
  format,
})

export const dwellsQuery = z.strictObject({
  ...deviceFilter,
  deviceId: uuid().optional(),
  placeId: uuid().optional().describe('Returns dwells whose centre is inside this place.'),
  sinceMinutes: window.sinceMinutes.unwrap().optional(),
  from: instantIn().optional(),
  to: instantIn().optional(),
  minDurationS: numberIn(z.number().int().min(0).max(maxDwellSeconds))
    .optional()
    .describe('Minimum duration in seconds, at most 400 days.'),
  ongoing: flag().optional(),
  ...pageOrFileQuery,
  format,
})
