import { z } from 'zod'
import { parseRfc3339 } from '#core/rfc3339'
import { numberIn, uuid } from '#core/schemas'
import { collectionIds, maxFeatures } from '#fleet-map/features/collections'
import type { FeatureTimes } from '#fleet-map/features/feature-times'
import type { BoundingBox } from '#telemetry/geo/geo'
import { numbersOf, onGlobe } from '../../http/geo-schemas.ts'
import { pageQuery } from '../../http/schemas.ts'

function boxOf(text: string): BoundingBox | undefined {
  const numbers = numbersOf(text)
  const [minLon = 0, minLat = 0, maxLon = 0, maxLat = 0] =
    numbers.length === 6 ? [...numbers.slice(0, 2), ...numbers.slice(3, 5)] : numbers
  return numbers.length === 4 || numbers.length === 6 ? [minLon, minLat, maxLon, maxLat] : undefined
}

const bbox = onGlobe(
  z
    .string()
    .max(300)
    .transform((text, check): BoundingBox => {
      const box = boxOf(text)
      if (box) return box
      const message = 'Four numbers: minLon,minLat,maxLon,maxLat; or six, with heights.'
      check.addIssue({ code: 'custom', message, input: text })
      return z.NEVER
    }),
)
  .describe(
    'minLon,minLat,maxLon,maxLat in degrees (CRS84), or six numbers with heights, which are ignored. minLon > maxLon is a box across the antimeridian.',
  )
  .meta({ example: '-8.6,51.8,-8.3,52.0' })

/** The time of one end; null for an open one, undefined for what is no time. */
function endOf(text: string): number | null | undefined {
  if (text === '' || text === '..') return null
  return parseRfc3339(text) ?? undefined
}

function timesOf(text: string): FeatureTimes | string {
  const [from, to] = text.split('/').map(endOf)
  const isInterval = text.includes('/')
  if (from === undefined || (isInterval && to === undefined) || text.split('/').length > 2)
    return 'Expected an RFC 3339 time, or two with a slash between them. `..` is an open end.'
  if (!isInterval) return from === null ? 'Expected an RFC 3339 time.' : { fromMs: from, toMs: from }
  if (from === null && (to ?? null) === null) return 'Only one end of the interval can be open.'
  if (from !== null && to !== null && to !== undefined && from > to) return 'The end must not be before the start.'
  return { fromMs: from, toMs: to ?? null }
}

const datetime = z
  .string()
  .max(100)
  .transform((text, check): FeatureTimes => {
    const times = timesOf(text)
    if (typeof times !== 'string') return times
    check.addIssue({ code: 'custom', message: times, input: text })
    return z.NEVER
  })
  .meta({ example: '2026-05-04T00:00:00Z/..' })

const orgId = uuid()
  .optional()
  .describe(
    'Returns data of this organization only. By default, all organizations that you can read are merged. The links of the response have the same value.',
  )

export const collectionParams = z.object({ collection: z.enum(collectionIds) })

export const featureParams = z.object({ collection: z.enum(collectionIds), feature: z.string().min(1).max(100) })

/** The query of the documents above the items, which they hand on in their links. */
export const ogcQuery = z.strictObject({
  orgId,
  datetime: datetime.optional().describe('Links to items have the same value.'),
})

export const featuresQuery = z.strictObject({
  orgId,
  bbox: bbox.optional(),
  datetime: datetime
    .optional()
    .describe(
      'A time (RFC 3339), or an interval such as `2026-05-04T00:00:00Z/..`, both ends included. By default the last 24 hours. The plan limits how far back it goes. Each collection describes which time counts.',
    ),
  limit: numberIn(z.number().int().min(1))
    .prefault(50)
    .describe(
      `Maximum number of features on a page. At most ${maxFeatures} are returned, and of dwells, trips and dead zones 200.`,
    ),
  cursor: pageQuery.cursor.describe('Part of the link to the next page.'),
})

export const featureQuery = z.strictObject({
  orgId,
  datetime: datetime
    .optional()
    .describe('The time for which `coverage` and `dead-zones` count. It has no effect on other collections.'),
})
