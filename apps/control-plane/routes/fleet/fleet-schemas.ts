import { z } from 'zod'
import { nearSchema } from '#core/near'
import { instantOut } from '#core/schemas'
import { deviceStatuses } from '#fleet/devices/status'
import { qualities } from '#telemetry/coverage/quality'
import { boundingBoxOut, pageOf } from '../../http/schemas.ts'

const quality = z.enum(qualities).nullable()
const decibels = z.number().nullable()

export const thresholdsSchema = z
  .object({
    classes: z.array(z.enum(qualities)),
    rsrpDbm: z.array(z.number()).describe('Lowest values of poor, fair, good and excellent for LTE and NR.'),
    sinrDb: z.array(z.number()),
    rssiDbm: z.array(z.number()).describe('Lowest values for GSM and UMTS.'),
    byRat: z.record(z.string(), z.record(z.string(), z.array(z.number()))),
    colors: z.record(z.string(), z.string()),
  })
  .meta({ id: 'SignalThresholds' })

export const windowSchema = z
  .object({ from: instantOut(), to: instantOut(), limitedBy: z.literal('plan').nullable() })
  .meta({ id: 'ReadWindow' })

const position = { lat: z.number(), lon: z.number() }
const text = z.string().nullable()
const amount = z.number().nullable()

const locationSchema = z.object({
  ...position,
  fix: text,
  ts: instantOut(),
  ageMs: z.int(),
  accuracyM: amount,
  speedMps: amount,
  headingDeg: amount,
})

const signalSchema = z.object({
  ts: instantOut(),
  ageMs: z.int(),
  modem: text.describe('Null for a router that does not name its modem.'),
  rat: text,
  plmn: text,
  operatorName: text,
  rsrpDbm: decibels,
  rsrqDb: decibels,
  sinrDb: decibels,
  nrRsrpDbm: decibels,
  quality,
  qualityBasis: text,
  alignment: text,
  alignErrorM: amount,
  lat: amount,
  lon: amount,
  completedFrom: instantOut()
    .nullable()
    .describe(
      'Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples of the same modem up to two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all fields.',
    ),
})

const ongoingDwellSchema = z.object({ arrivedAt: instantOut(), durationS: z.int(), ...position, radiusM: z.number() })

const deviceSchema = z
  .object({
    deviceId: z.string(),
    organizationId: z.string().optional(),
    name: z.string().optional(),
    status: z.enum(deviceStatuses).optional(),
    location: locationSchema.partial().nullable().optional(),
    signal: signalSchema.partial().nullable().optional().describe('Of the active modem.'),
    dwell: ongoingDwellSchema.partial().nullable().optional().describe('The ongoing dwell.'),
    modems: z
      .array(signalSchema.extend({ isActive: z.boolean() }))
      .optional()
      .describe('With `include=modems`: the modems that reported in the last 24 hours, by name.'),
  })
  .meta({ id: 'FleetDevice', description: 'With `fields`, contains only the requested fields.' })

const levels = { p10: decibels, p50: decibels }
const rsrpLevels = z.object({ ...levels, p90: decibels }).meta({ id: 'RsrpLevels' })
const sinrLevels = z.object(levels).meta({ id: 'SinrLevels' })

const cellFields = {
  h3: z.string(),
  samples: z.int().describe('Number of votes, one per device, modem and minute. 0 if the cell lost its last vote.'),
  devices: z.int(),
  serviceRatio: z.number().describe('Share of the votes with service.'),
  rsrpDbm: rsrpLevels,
  sinrDb: sinrLevels,
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
      z.object({
        samples: z
          .int()
          .describe('Number of votes. A vote without service counts for the operator that the modem lost.'),
        serviceRatio: z.number().describe('Share of the votes with service.'),
        rsrpDbm: rsrpLevels,
        rsrpP50Dbm: decibels,
        best: z
          .boolean()
          .describe('The only operator with service in 90 % of its votes, or at least 3 dB stronger than the others.'),
      }),
    ),
  })
  .meta({ id: 'DetailedCoverageCell' })

const dwellSchema = z
  .object({
    id: z.string(),
    deviceId: z.string(),
    arrivedAt: instantOut(),
    departedAt: instantOut().nullable().describe('Null while the dwell is ongoing.'),
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
      .describe('In `/fleet/gps`, the three signal fields are null in lists of more than 500 dwells.'),
    withdrawn: z.boolean().optional().describe('With `since`: late data removed this dwell.'),
  })
  .meta({ id: 'Dwell' })

export const dwellPageSchema = pageOf(
  dwellSchema
    .extend({
      near: nearSchema,
      places: z
        .array(z.object({ id: z.string(), name: z.string() }))
        .optional()
        .describe('The places that contain the centre of the dwell. Absent if there are none.'),
    })
    .meta({ id: 'DwellInPlaces' }),
)

const tripEndSchema = z
  .object({
    lat: z.number(),
    lon: z.number(),
    near: nearSchema,
    placeId: z.string().nullable().describe('The place that contains it, of several the first by name.'),
    placeName: z.string().nullable().describe('The name of that place.'),
  })
  .meta({ id: 'TripEnd' })

export const tripPageSchema = pageOf(
  z
    .object({
      deviceId: z.string(),
      departedAt: instantOut(),
      arrivedAt: instantOut().nullable().describe('Null until the device dwells again.'),
      from: tripEndSchema.describe('The centre of the dwell before, or the first fix after a gap.'),
      to: tripEndSchema.describe('The centre of the next dwell, or the last fix before a gap or until now.'),
      distanceM: z.number().describe('Along the curve on which signal samples are placed.'),
      durationS: z.int().describe('Until the newest fix if the trip is not over.'),
      gap: z.boolean().describe('A gap of more than 15 minutes between fixes split the trip.'),
      noServiceS: z.number().nullable(),
      rsrpP50Dbm: decibels,
      sinrP50Db: decibels,
    })
    .meta({ id: 'Trip' }),
)

/** In the columnar format, each list is an object with arrays of equal length. */
const listOf = (item: z.ZodType) => z.union([z.array(item), z.record(z.string(), z.array(z.unknown()))]).optional()

export const gpsSchema = z
  .looseObject({
    asOf: z.string().describe('The time of the response. Send it as `since` to get changes.'),
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
    id: z.string().describe('The lowest cell index of the zone.'),
    lat: z.number(),
    lon: z.number(),
    near: nearSchema,
    bbox: boundingBoxOut().describe(
      'minLon, minLat, maxLon, maxLat. minLon > maxLon if the box crosses the antimeridian.',
    ),
    cells: z.array(z.string()),
    areaKm2: z.number(),
    samples: z.int().describe('Number of votes, one per device, modem, cell and minute.'),
    noServiceS: z
      .int()
      .describe('Seconds without service. A minute of a device counts if none of its modems had service in it.'),
    serviceRatio: z
      .number()
      .describe('The part of the minutes of devices in which a modem of the device had service, from 0 to 1.'),
    devices: z.int(),
    worstPlmn: z
      .string()
      .nullable()
      .describe('The operator with the lowest service ratio among operators with at least 5 votes.'),
    bestPlmn: z
      .string()
      .nullable()
      .describe('The operator with the highest service ratio; null unless at least two operators have 5 votes.'),
    lastAt: instantOut(),
  })
  .meta({ id: 'DeadZone' })

export const deadZonePageSchema = z.object({
  asOf: z.string(),
  window: windowSchema,
  h3Resolution: z.int(),
  ...pageOf(deadZoneSchema).shape,
})

const votes = z.int().describe('Number of votes, one per device, modem, cell and minute.')

const signalSummary = {
  samples: votes,
  serviceRatio: z.number().describe('Share of the votes with service.'),
  noServiceS: z.int().describe('Seconds without service; each vote without service counts as one minute.'),
  rsrpDbm: z
    .object({ p10: decibels, p50: decibels, p90: decibels })
    .describe('Percentiles of the votes with service; null where nothing was measured.'),
  byQuality: z
    .record(z.enum([...qualities, 'unknown']), z.int())
    .describe('Votes by the class of their RSRP. `none` includes votes without service; `unknown` have no RSRP.'),
}

export const operatorsSchema = z
  .object({
    asOf: z.string(),
    window: windowSchema,
    items: z
      .array(z.object({ plmn: z.string(), ...signalSummary }))
      .describe('At most 100 operators. Those with fewer than 5 votes come last.'),
  })
  .meta({ id: 'Operators' })

export const signalTrendSchema = z
  .object({
    asOf: z.string(),
    window: windowSchema,
    stepS: z.int().describe('Length of a step: an hour, six hours or a day, by the length of the window.'),
    steps: z
      .array(z.object({ from: instantOut(), ...signalSummary }))
      .describe('Oldest first. Steps begin at multiples of their length in UTC. A step without votes is left out.'),
    operators: z
      .array(z.object({ plmn: z.string(), ...signalSummary }))
      .describe(
        'At most 100 operators with at least 5 votes each. The operator with the largest share of votes with a poor signal or none is first.',
      ),
  })
  .meta({ id: 'SignalTrend' })
