import { z } from 'zod'
import { parseDecimal } from '#core/decimal-number'
import { qualities } from '#telemetry/coverage/quality'
import type { BoundingBox } from '#telemetry/geo/geo'
import { distinct, repeatable } from './schemas.ts'

/** Rejects boxes that are not on the globe. */
export const onGlobe = <Box extends z.ZodType<BoundingBox>>(box: Box) =>
  box
    .refine(
      ([minLon, , maxLon]) => Math.abs(minLon) <= 180 && Math.abs(maxLon) <= 180,
      'Longitudes must be between -180 and 180.',
    )
    .refine(
      ([, minLat, , maxLat]) => minLat >= -90 && maxLat <= 90 && minLat <= maxLat,
      'Latitudes must be between -90 and 90, south first.',
    )

/** The numbers of a list that is separated by commas; none if one of them is not a number. */
export function numbersOf(list: string): number[] {
  const numbers = list.split(',').map(parseDecimal)
  return numbers.every((number) => number !== null) ? numbers : []
}

// In full, because patterns that are made at run time are not checked for their time.
const fourNumbers = /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?(,[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?){3}$/

/** A box in a query. Programs write small numbers with an exponent, such as `1e-7`. */
export const boundingBox = onGlobe(
  z
    .string()
    .regex(fourNumbers, { error: 'Four numbers: minLon,minLat,maxLon,maxLat.', abort: true })
    .transform((list) => numbersOf(list) as unknown as BoundingBox),
)
  .describe('minLon,minLat,maxLon,maxLat in degrees. minLon > maxLon is a box across the antimeridian.')
  .meta({ example: '-8.6,51.8,-8.3,52.0' })

/** A box in a body. */
export const boundingBoxIn = onGlobe(z.tuple([z.number(), z.number(), z.number(), z.number()]))
  .describe('West, south, east and north of a box in degrees. west > east is a box across the antimeridian.')
  .meta({ example: [-8.6, 51.8, -8.3, 52] })

/** MCC and MNC of an operator. */
export const operatorCode = z.string().regex(/^\d{5,6}$/)

/** The classes of a signal as filters have them. */
export const qualityWords = z.enum([...qualities, 'unknown'])
export const signalQuery = repeatable(z.string()).pipe(distinct(qualityWords, qualityWords.options.length))
