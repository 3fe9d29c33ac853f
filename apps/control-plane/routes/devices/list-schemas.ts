import { z } from 'zod'
import { nearSchema } from '#core/near'
import { instantOut } from '#core/schemas'
import { deviceSchema } from '#fleet/devices/device'
import { liveSorts } from '#fleet/devices/live-filter'
import { deviceSorts } from '#fleet/devices/sorted'
import { listParts } from '#fleet-map/device-list/list-details'
import { qualities } from '#telemetry/coverage/quality'
import { wordList } from '../../http/schemas.ts'
import { deviceFilter } from './device-schemas.ts'

/** The filters, order and parts of a device list, which the export shares. */
export const listQuery = {
  ...deviceFilter,
  sort: z
    .enum([...deviceSorts, ...liveSorts])
    .optional()
    .describe(
      'Order of the list; descending with a minus sign. By default, newest first. `signal` (RSRP of the active modem), `operator`, `modems` (those without service, then the number) and `near` (name of the nearest town, then country) need `fleet:read`; `dataToday` and `dataMonth` need `telemetry:read`. With these orders, devices without a value come last. A device whose value changes while you read page by page can be missing or appear twice.',
    ),
  include: wordList(listParts)
    .optional()
    .describe(
      'Parts to add to each device: `signal`, with `modems`, which needs `fleet:read`; `near`; and `dataUse`, which needs `telemetry:read`.',
    ),
}

const text = z.string().nullable()
const bytes = z.number().nullable()
const decibels = z.number().nullable()

export const listedDeviceSchema = deviceSchema
  .extend({
    signal: z
      .object({
        ts: instantOut(),
        modem: text,
        rat: text,
        plmn: text,
        operatorName: text,
        rsrpDbm: decibels,
        sinrDb: decibels,
        quality: z.enum(qualities).nullable(),
      })
      .meta({ id: 'ListedSignal' })
      .nullable()
      .optional()
      .describe('With `include=signal`: the last signal of the active modem; null without one in the last 24 hours.'),
    modems: z
      .object({ count: z.int(), withoutService: z.int() })
      .meta({ id: 'ListedModems' })
      .nullable()
      .optional()
      .describe(
        'With `include=signal`: how many modems reported in the last 24 hours, and how many of them have no service. Null in organizations whose fleet map you cannot read.',
      ),
    near: nearSchema.optional(),
    dataUse: z
      .object({ todayBytes: bytes, monthBytes: bytes, measuredAt: instantOut() })
      .meta({ id: 'ListedDataUse' })
      .nullable()
      .optional()
      .describe(
        'With `include=dataUse`: what all modems and interfaces of the device received and sent for the organization on this UTC day and since the start of this UTC month, from the counters in `connection` samples; null for a time without a counter. It is measured every 10 minutes, or less often for very large fleets. Null until it has been measured, and in organizations where you lack `telemetry:read`.',
      ),
  })
  .meta({ id: 'ListedDevice' })
