import { z } from 'zod'
import { forecastResolutions } from '#telemetry/forecast'
import { qualities } from '#telemetry/quality'
import { pathLengthM } from '#telemetry/route-path'
import { uuid } from '../http/schemas.ts'
import { operatorCode, sinceMinutes } from './query.ts'
import { windowSchema } from './schemas.ts'

const maxPoints = 5_000
const maxLengthM = 2_000_000
const defaultMinutes = 43_200

const longitude = z.number().min(-180).max(180)
const latitude = z.number().min(-90).max(90)
/** Longitude, latitude and, as GeoJSON allows, an altitude that is not looked at. */
const position = z.union([z.tuple([longitude, latitude]), z.tuple([longitude, latitude, z.number()])])
const positions = z.array(position).min(2).max(maxPoints)

/** RFC 7946. */
const lineString = z.strictObject({
  type: z.literal('LineString'),
  coordinates: positions,
  bbox: z.array(z.number()).max(6).optional(),
})

const path = z
  .union([positions, lineString], {
    error: `Send a GeoJSON LineString or a list of 2 to ${maxPoints} [longitude, latitude] positions in degrees.`,
  })
  .transform((sent) => (Array.isArray(sent) ? sent : sent.coordinates).map(([lon, lat]) => ({ lat, lon })))
  .refine((points) => pathLengthM(points) <= maxLengthM, {
    message: `The path must not be longer than ${maxLengthM / 1_000} km.`,
    params: { code: 'path_too_long' },
  })
  .describe(
    `A GeoJSON LineString or its coordinates, [longitude, latitude] each: 2 to ${maxPoints} points, at most ${maxLengthM / 1_000} km.`,
  )

export const forecastRequest = z.strictObject({
  path,
  orgId: uuid().optional().describe('One organization; all that the caller may read are merged without it.'),
  sinceMinutes: sinceMinutes(defaultMinutes),
  everyM: z.number().min(50).max(1_000).default(100).describe('Length of a segment in metres.'),
  plmn: operatorCode.optional().describe('Only what was measured with this operator.'),
})

export type ForecastRequest = z.infer<typeof forecastRequest>

const decibels = z.number().nullable()
const metres = z.number().describe('Metres from the start of the path.')
const share = z.number().min(0).max(1)
const spread = z.object({ p10: decibels, p50: decibels, p90: decibels })

const segmentSchema = z
  .object({
    fromM: metres,
    toM: metres,
    lat: z.number().describe('Middle of the segment.'),
    lon: z.number(),
    h3: z.string().describe('The cell the segment is told from: the finest around its middle with at least 5 votes.'),
    h3Resolution: z
      .int()
      .min(Math.min(...forecastResolutions))
      .max(Math.max(...forecastResolutions)),
    samples: z.int().describe('Votes in the cell.'),
    devices: z.int().describe('Devices that voted in the cell.'),
    serviceRatio: share.nullable(),
    quality: z.enum(qualities).nullable(),
    confidence: z.enum(['none', 'low', 'medium', 'high']).describe('`none`: nothing is known.'),
    rsrpDbm: spread.nullable(),
    sinrDb: z.object({ p10: decibels, p50: decibels }).nullable(),
    byRat: z.record(
      z.string(),
      z.object({ samples: z.int(), share: share.describe('Expected part of all votes.'), rsrpDbm: spread }),
    ),
    byPlmn: z.record(
      z.string(),
      z.object({ samples: z.int(), serviceRatio: share, rsrpDbm: spread, best: z.boolean() }),
    ),
  })
  .meta({ id: 'ForecastSegment' })

const length = z.number().min(0).describe('Metres.')

export const forecastSchema = z
  .object({
    asOf: z.string(),
    window: windowSchema,
    lengthM: length,
    everyM: z.number(),
    segments: z.array(segmentSchema),
    summary: z.object({
      knownM: length.describe('Metres where anything is known. Dead and poor metres are among them.'),
      deadM: length,
      poorM: length,
      deadZones: z.array(z.object({ fromM: metres, toM: metres, lengthM: length })),
      byPlmn: z.record(z.string(), z.object({ knownM: length, deadM: length, poorM: length, rsrpP50Dbm: decibels })),
      recommendedPlmn: z
        .string()
        .nullable()
        .describe('Smallest part dead or poor, of the operators known on half of what is known; null without one.'),
    }),
  })
  .meta({ id: 'RouteForecast' })
