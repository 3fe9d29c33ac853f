import type { Context } from 'hono'
import { z } from 'zod'
import { multilineText, numberIn, soughtText, text, uuid } from '#core/schemas'
import { configStates } from '#fleet/config-profiles/config-state'
import type { DeviceRevision } from '#fleet/devices/device'
import { modemConditions } from '#fleet/devices/live-filter'
import { deviceStatuses } from '#fleet/devices/status'
import { requireMatch } from '#http/etag'
import { fieldTable } from '#telemetry/report/fields'
import { boundingBox, operatorCode, qualityWords, signalQuery } from '../../http/geo-schemas.ts'
import { distinct, repeatable, tags } from '../../http/schemas.ts'

export const deviceParams = z.object({ id: uuid() })

/** Notes in a request. */
export const notes = () =>
  multilineText(4_000)
    .nullable()
    .optional()
    .describe('Free text, which can have several lines. Null or an empty text removes it.')

/** The fields a device is registered with, but for its organization. */
export const newDeviceFields = {
  serial: text(64).describe('Serial number, unique in the organization regardless of case. It cannot be changed.'),
  name: text(),
  model: text(),
  tags: tags().default([]).describe('Tags, without semicolons; an empty list by default.'),
  notes: notes(),
}

const maxAgoMinutes = 527_040

/** Filters that take the same values in a query and in a body. */
export const sharedFilter = {
  configState: z
    .enum(configStates)
    .optional()
    .describe('Whether devices run the profile that was last applied to them.'),
  placeId: uuid().optional().describe('Returns devices whose last position is inside this place. Needs `fleet:read`.'),
  groupId: uuid().optional().describe('Returns the effective members of this group. Needs `group:read`.'),
  firmware: soughtText(64).optional().describe('Returns devices with exactly this firmware version.'),
  rat: z
    .enum(fieldTable.cellular.rat.words as [string, ...string[]])
    .optional()
    .describe('Returns devices whose active modem last used this radio technology. Needs `fleet:read`.'),
  plmn: operatorCode
    .optional()
    .describe('Returns devices whose active modem last used this operator. Needs `fleet:read`.'),
  modems: z
    .enum(modemConditions)
    .optional()
    .describe(
      '`several`: devices of which more than one modem reported in the last 24 hours. `withoutService`: devices of which a modem has no service. Needs `fleet:read`.',
    ),
  near: soughtText(100)
    .min(2)
    .optional()
    .describe(
      'A part of the name of a town, regardless of case and accents. Returns devices to which such a town is the nearest. Needs `fleet:read`.',
    ),
}

const signalText =
  'Returns devices whose active modem has a signal of one of these classes; `none` is no service, `unknown` no signal in the last 24 hours. Needs `fleet:read`.'
const seenText = 'Returns devices that reported within the last minutes.'
const maxBytes = Number.MAX_SAFE_INTEGER
const todayText =
  'Returns devices that have used at least so many bytes on this UTC day, in both directions together. Needs `telemetry:read`.'
const monthText = 'The same since the start of this UTC month.'
const silentText = 'Returns devices whose last report is older than so many minutes.'

/** The same filters of a body. */
export const bodyFilter = {
  signal: distinct(qualityWords, qualityWords.options.length, 1).optional().describe(signalText),
  seenWithinMinutes: z.number().int().min(1).max(maxAgoMinutes).optional().describe(seenText),
  silentForMinutes: z.number().int().min(1).max(maxAgoMinutes).optional().describe(silentText),
  minTodayBytes: z.number().int().min(0).max(maxBytes).optional().describe(todayText),
  minMonthBytes: z.number().int().min(0).max(maxBytes).optional().describe(monthText),
}

/** The filters of the device list, which the export shares. */
export const deviceFilter = {
  orgId: uuid()
    .optional()
    .describe(
      'Returns devices of this organization only. By default, the list contains all organizations that you can read.',
    ),
  status: z.enum(deviceStatuses).optional(),
  q: soughtText(100)
    .min(2)
    .optional()
    .describe('Case-insensitive substring of name, serial, model or organization name.'),
  tag: repeatable(soughtText(64))
    .pipe(distinct(z.string(), 20))
    .optional()
    .describe('Can be repeated. Returns devices that have all of these tags.'),
  deviceId: repeatable(uuid(), 200).optional().describe('Can be repeated. Returns only these devices.'),
  ...sharedFilter,
  bbox: boundingBox
    .optional()
    .describe(
      'Returns devices whose last position is in this box: west, south, east and north in degrees. west > east is a box across the antimeridian. Needs `fleet:read`.',
    ),
  signal: signalQuery.optional().describe(`Can be repeated. ${signalText}`),
  seenWithinMinutes: numberIn(z.number().int().min(1).max(maxAgoMinutes)).optional().describe(seenText),
  silentForMinutes: numberIn(z.number().int().min(1).max(maxAgoMinutes)).optional().describe(silentText),
  minTodayBytes: numberIn(z.number().int().min(0).max(maxBytes)).optional().describe(todayText),
  minMonthBytes: numberIn(z.number().int().min(0).max(maxBytes)).optional().describe(monthText),
}

export const exampleDevice = {
  id: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f',
  organizationId: '0198c0de-0000-7c3e-9f00-5e3d2b1a0c4f',
  serial: 'SN-0042',
  name: 'Bus 42',
  model: 'RX-500',
  tags: ['bus', 'night'],
  status: 'online',
  lastSeenAt: '2026-05-04T12:30:00.000Z',
  firmware: '4.2.1',
  configProfile: null,
  location: { lat: 51.8985, lon: -8.4756, ts: '2026-05-04T12:29:58.000Z' },
  notes: 'Under the seat of the driver.\nKey 14 opens the box.',
  createdAt: '2026-05-01T08:00:00.000Z',
  updatedAt: '2026-05-01T08:00:00.000Z',
}

/** Throws 412 when `If-Match` names another revision; what telemetry changed since does not matter. */
export const ifUnchanged =
  (http: Context) =>
  ({ revision }: DeviceRevision): void =>
    requireMatch(http.req.header('if-match')?.replaceAll(/"(\d+)-[^"]*"/g, '"$1"'), `"${revision}"`)
