import { z } from 'zod'
import { uuid } from '#core/schemas'
import { forecastResolutions } from '#telemetry/coverage/forecast'
import { qualities } from '#telemetry/coverage/quality'
import { pathLengthM } from '#telemetry/geo/route-path'
import { operatorCode } from '../../http/geo-schemas.ts'
import { sinceMinutes } from './fleet-query.ts'
import { windowSchema } from './fleet-schemas.ts'
import { geoJson, geoJsonObject, position, withEntries } from './geojson-schemas.ts'

const maxPoints = 5_000
const maxLengthM = 2_000_000
const defaultMinutes = 43_200

const positions = z.array(position).min(2).max(maxPoints)

const geometry = z.discriminatedUnion('type', [
  geoJsonObject('LineString', { coordinates: positions }).meta({ id: 'PathLineString' }),
  geoJsonObject('MultiLineString', { coordinates: z.array(positions) }).meta({ id: 'PathMultiLineString' }),
  z.object({ type: z.enum(['Point', 'MultiPoint', 'Polygon', 'MultiPolygon']) }).meta({ id: 'IgnoredGeometry' }),
])

const listed = positions.transform((coordinates): z.infer<typeof geometry>[] => [{ type: 'LineString', coordinates }])
const accepted = `Send a GeoJSON LineString or MultiLineString, alone, in a Feature or in a collection, or a list of 2 to ${maxPoints} [longitude, latitude] positions in degrees.`

const sentPath = z
  .union([listed, geoJson('Path', geometry, accepted)], accepted)
  .transform((geometries) => {
    const lines = geometries.flatMap((sent) => {
      if (sent.type === 'LineString') return [sent.coordinates]
      return sent.type === 'MultiLineString' ? sent.coordinates : []
    })
    return {
      lines: lines.map((line) => line.map(([lon, lat]) => ({ lat, lon }))),
      ignoredGeometries: geometries.filter(({ type }) => type !== 'LineString' && type !== 'MultiLineString').length,
    }
  })
  .refine(({ lines }) => lines.length > 0, accepted)
  .refine(({ lines }) => lines.flat().length <= maxPoints, `The path must not have more than ${maxPoints} points.`)
  .refine(({ lines }) => lines.reduce((sumM, line) => sumM + pathLengthM(line), 0) <= maxLengthM, {
    message: `The path must not be longer than ${maxLengthM / 1_000} km.`,
    params: { code: 'path_too_long' },
  })

const path = withEntries(10 * maxPoints, sentPath).describe(
  `A list of [longitude, latitude] positions, or GeoJSON: 2 to ${maxPoints} points and at most ${maxLengthM / 1_000} km. Each line of a MultiLineString or a collection is a stretch, and the gaps between them are not part of the route. Altitudes, \`bbox\`, \`crs\`, properties, points and polygons are ignored.`,
)

export const forecastRequest = z.strictObject({
  path,
  orgId: uuid()
    .optional()
    .describe('Uses data of this organization only. By default, all organizations that you can read are merged.'),
  sinceMinutes: sinceMinutes(defaultMinutes),
  everyM: z.number().min(50).max(1_000).default(100).describe('Length of a segment in metres.'),
  plmn: operatorCode.optional().describe('Uses only samples of this operator.'),
})

const decibels = z.number().nullable()
const metres = z.number().describe('Metres from the start of the path, without the gaps between stretches.')
const share = z.number().min(0).max(1)
const spread = z.object({ p10: decibels, p50: decibels, p90: decibels })

const segmentSchema = z
  .object({
    fromM: metres,
    toM: metres,
    lat: z.number().describe('Middle of the segment.'),
    lon: z.number(),
    h3: z
      .string()
      .describe(
        'The cell that the forecast uses: the finest cell around the middle of the segment with at least 5 votes.',
      ),
    h3Resolution: z
      .int()
      .min(Math.min(...forecastResolutions))
      .max(Math.max(...forecastResolutions)),
    samples: z.int().describe('Number of votes in the cell.'),
    devices: z.int().describe('Number of devices that voted in the cell.'),
    serviceRatio: share.nullable(),
    quality: z.enum(qualities).nullable(),
    confidence: z.enum(['none', 'low', 'medium', 'high']).describe('`none` if there is no data.'),
    rsrpDbm: spread.nullable(),
    sinrDb: z.object({ p10: decibels, p50: decibels }).nullable(),
    byRat: z.record(
      z.string(),
      z.object({ samples: z.int(), share: share.describe('Expected share of all votes.'), rsrpDbm: spread }),
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
    stretches: z
      .array(z.object({ fromM: metres, toM: metres }))
      .optional()
      .describe('The lines of the path in their order; absent if the path is one line.'),
    ignoredGeometries: z
      .int()
      .optional()
      .describe('Number of points and polygons in the path, which a route does not use; absent if there are none.'),
    segments: z.array(segmentSchema),
    summary: z.object({
      knownM: length.describe('Metres with data, including dead and poor metres.'),
      deadM: length,
      poorM: length,
      deadZones: z.array(z.object({ fromM: metres, toM: metres, lengthM: length })),
      byPlmn: z.record(z.string(), z.object({ knownM: length, deadM: length, poorM: length, rsrpP50Dbm: decibels })),
      recommendedPlmn: z
        .string()
        .nullable()
        .describe(
          'The operator with the fewest dead metres, of equals the one with the stronger median, among operators with data on at least half of `knownM`; null if there is none.',
        ),
    }),
  })
  .meta({ id: 'RouteForecast' })
