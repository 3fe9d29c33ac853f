import { z } from 'zod'
import { qualities } from '#telemetry/quality'
import { instantOut, pageOf } from '../http/schemas.ts'

const quality = z.enum(qualities).nullable()
const decibels = z.number().nullable()

export const thresholdsSchema = z
  .object({
    classes: z.array(z.enum(qualities)),
    rsrpDbm: z.array(z.number()).describe('Lowest value of poor, fair, good and excellent for LTE and NR.'),
    sinrDb: z.array(z.number()),
    rssiDbm: z.array(z.number()).describe('The same for GSM and UMTS.'),
    byRat: z.record(z.string(), z.record(z.string(), z.array(z.number()))),
    colors: z.record(z.string(), z.string()),
  })
  .meta({ id: 'SignalThresholds' })

export const windowSchema = z.object({ from: instantOut(), to: instantOut(), limitedBy: z.literal('plan').nullable() })

const deviceSchema = z
  .object({
    deviceId: z.string(),
    organizationId: z.string().optional(),
    name: z.string().optional(),
    status: z.string().optional(),
    location: z.looseObject({ lat: z.number().optional(), lon: z.number().optional() }).nullable().optional(),
    signal: z.looseObject({ quality: quality.optional(), rsrpDbm: decibels.optional() }).nullable().optional(),
    dwell: z.looseObject({ arrivedAt: z.string().optional() }).nullable().optional().describe('The ongoing one.'),
  })
  .meta({ id: 'FleetDevice', description: 'With `fields`, only what was asked for.' })

const cellFields = {
  h3: z.string(),
  samples: z.int().describe('Votes: one per device and minute. 0: the cell lost its last one.'),
  devices: z.int(),
  serviceRatio: z.number(),
  rsrpDbm: z.object({ p10: decibels, p50: decibels, p90: decibels }),
  sinrDb: z.object({ p10: decibels, p50: decibels }),
  quality,
  confidence: z.enum(['low', 'medium', 'high']),
  lastAt: instantOut(),
}
const cellSchema = z.object(cellFields).meta({ id: 'CoverageCell' })

const detailedCellSchema = z
  .object({
    ...cellFields,
    byRat: z.record(z.string(), z.int()),
    byPlmn: z.record(
      z.string(),
      z.object({ samples: z.int().describe('Votes with service.'), rsrpP50Dbm: decibels, best: z.boolean() }),
    ),
  })
  .meta({ id: 'DetailedCoverageCell' })

const dwellSchema = z
  .object({
    id: z.string(),
    deviceId: z.string(),
    arrivedAt: instantOut(),
    departedAt: instantOut().nullable().describe('Null while nothing outside was seen.'),
    firstOutsideAt: instantOut().nullable(),
    durationS: z.int(),
    lat: z.number(),
    lon: z.number(),
    radiusM: z.number(),
    fixCount: z.int(),
    gap: z.boolean(),
    rsrpP50Dbm: decibels,
    sinrP50Db: decibels,
    noServiceS: z
      .number()
      .nullable()
      .describe('In lists of more than 500 in fleet GPS the three about signal are null.'),
    withdrawn: z.boolean().optional().describe('With `since`: late data took this dwell away.'),
  })
  .meta({ id: 'Dwell' })

export const dwellPageSchema = pageOf(dwellSchema)

/** Columnar answers have an object of equally long arrays in place of each list. */
const listOf = (item: z.ZodType) => z.union([z.array(item), z.record(z.string(), z.array(z.unknown()))]).optional()

export const gpsSchema = z
  .looseObject({
    asOf: z.string().describe('Send it back as `since`.'),
    window: windowSchema,
    h3Resolution: z.int().nullable(),
    devices: listOf(deviceSchema),
    coverage: listOf(cellSchema),
    dwells: listOf(dwellSchema),
    gone: z.array(z.string()),
    thresholds: thresholdsSchema,
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'FleetGps' })

export const coverageSchema = z
  .object({
    asOf: z.string(),
    window: windowSchema,
    h3Resolution: z.int(),
    items: z.array(detailedCellSchema),
    thresholds: thresholdsSchema,
  })
  .meta({ id: 'Coverage' })

const deadZoneSchema = z
  .object({
    id: z.string().describe('The smallest of its cells.'),
    lat: z.number(),
    lon: z.number(),
    bbox: z.array(z.number()).length(4).describe('minLon, minLat, maxLon, maxLat.'),
    cells: z.array(z.string()),
    areaKm2: z.number(),
    samples: z.int().describe('Votes: one per device and minute.'),
    noServiceS: z.int().describe('Seconds without service, a minute for each vote without it.'),
    devices: z.int(),
    worstPlmn: z.string().nullable().describe('Lowest service ratio, of the operators with at least 5 votes.'),
    bestPlmn: z.string().nullable().describe('Highest service ratio; null unless two operators have 5 votes.'),
    lastAt: instantOut(),
  })
  .meta({ id: 'DeadZone' })

export const deadZonePageSchema = z.object({
  asOf: z.string(),
  window: windowSchema,
  h3Resolution: z.int(),
  ...pageOf(deadZoneSchema).shape,
})
