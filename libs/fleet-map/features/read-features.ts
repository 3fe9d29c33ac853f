import { notFound } from '#core/errors'
import { type CollectionId, collections } from '#fleet-map/features/collections'
import { coverageFeatures, deadZoneFeatures } from '#fleet-map/features/coverage-features'
import { deviceFeatures } from '#fleet-map/features/device-features'
import { dwellFeatures, tripFeatures } from '#fleet-map/features/dwell-features'
import type { FeaturePage, FeatureRequest, FeatureSources, IdentifiedFeature } from '#fleet-map/features/feature-page'
import type { FeatureTimes } from '#fleet-map/features/feature-times'
import type { BoundingBox } from '#telemetry/geo/geo'

type FeaturesQuery = {
  orgId?: string | undefined
  bbox?: BoundingBox | undefined
  datetime?: FeatureTimes | undefined
  limit: number
}

/** The end of a page, and the time of the first one. */
type Position = { nowMs: number; after: string }

const readers: Record<CollectionId, (sources: FeatureSources, request: FeatureRequest) => Promise<FeaturePage>> = {
  devices: deviceFeatures,
  dwells: dwellFeatures,
  trips: tripFeatures,
  coverage: coverageFeatures,
  'dead-zones': deadZoneFeatures,
}

// Programs stop at a page without features.
const maxEmptyPages = 20

/** A page of a collection. Throws 404 and 403. */
export async function listFeatures(
  sources: FeatureSources,
  collection: CollectionId,
  { orgId, bbox, datetime: times, limit }: FeaturesQuery,
  from: string | undefined,
): Promise<FeaturePage> {
  const position = from === undefined ? undefined : (JSON.parse(from) as Position)
  const nowMs = position?.nowMs ?? sources.ctx.clock()
  const request = { orgId, bbox, times, nowMs, limit: Math.min(limit, collections[collection].maxLimit) }
  let after = position?.after
  for (let pages = 1; ; pages++) {
    const page = await readers[collection](sources, { ...request, after })
    if (page.count > 0 || page.nextAfter === null || pages >= maxEmptyPages) {
      const isAll = position === undefined && page.nextAfter === null
      return {
        ...(isAll && { numberMatched: page.count }),
        ...page,
        nextAfter: page.nextAfter && JSON.stringify({ nowMs, after: page.nextAfter } satisfies Position),
      }
    }
    after = page.nextAfter
  }
}

/** One feature of a collection. `datetime` applies to collections that count over a time. Throws 404 and 403. */
export async function readFeature(
  sources: FeatureSources,
  collection: CollectionId,
  { orgId, datetime, id }: { orgId?: string | undefined; datetime?: FeatureTimes | undefined; id: string },
): Promise<IdentifiedFeature> {
  const times = collection === 'devices' ? undefined : datetime
  const request = { orgId, bbox: undefined, times, nowMs: sources.ctx.clock(), limit: 10, after: undefined, id }
  const { features } = await readers[collection](sources, request)
  const found = [...features].find((feature) => feature.id === id)
  if (!found) throw notFound('feature', id)
  return found
}
