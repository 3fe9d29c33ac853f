import type { FleetContext } from '#fleet/context'
import { mappedOrganizations } from '#fleet-map/access'
import { planStartMs } from '#fleet-map/window'

type Needed = ('fleetGps' | 'coverage')[]

type Collection = {
  title: string
  description: string
  /** The features of the plan that it needs. */
  needed: Needed
  /** The most features of a page. */
  maxLimit: number
}

/** The most features of a page of any collection. */
export const maxFeatures = 10_000
// Each costs several reads.
const maxCostly = 200

/** The collections of features, in the order in which they are listed. */
export const collections = {
  devices: {
    title: 'Devices',
    description:
      'Each device, at its last position of the last 24 hours; without a geometry if there is none. With `datetime`, only devices with their last position in that time.',
    needed: ['fleetGps'],
    maxLimit: maxFeatures,
  },
  dwells: {
    title: 'Dwells',
    description:
      'Places where devices stayed, newest arrival first: those of the last 24 hours or, with `datetime`, those that overlap that time. A point is the centre of a dwell.',
    needed: ['fleetGps'],
    maxLimit: maxCostly,
  },
  trips: {
    title: 'Trips',
    description:
      'The ways of devices between dwells, newest departure first: those with their departure in the last 24 hours or, with `datetime`, in that time. A line has at most 500 positions.',
    needed: ['fleetGps'],
    maxLimit: maxCostly,
  },
  coverage: {
    title: 'Coverage',
    description:
      'H3 cells with the signal that devices measured in the last 24 hours or, with `datetime`, in that time. Their resolution is the finest with at most 5,000 cells. `bbox` selects cells by their centre.',
    needed: ['fleetGps', 'coverage'],
    maxLimit: maxFeatures,
  },
  'dead-zones': {
    title: 'Dead zones',
    description:
      'Groups of adjacent H3 cells without service in the last 24 hours or, with `datetime`, in that time, longest time without service first. `bbox` selects zones by their centre.',
    needed: ['fleetGps', 'coverage'],
    maxLimit: maxCostly,
  },
} as const satisfies Record<string, Collection>

export type CollectionId = keyof typeof collections

export const collectionIds = Object.keys(collections) as [CollectionId, ...CollectionId[]]

/** A collection as the caller can read it. `startMs`: the beginning of the history that a plan includes. */
export type ReadableCollection = { id: CollectionId; title: string; description: string; startMs: number }

/** The collections that the plans of the organizations include. Throws 404, 403, and 403 `plan_feature` if none is left. */
export async function readableCollections(
  ctx: FleetContext,
  organizationId: string | undefined,
): Promise<ReadableCollection[]> {
  const organizations = await mappedOrganizations(ctx, organizationId, ['fleetGps'])
  const hasCoverage = organizations.some(({ coverage }) => coverage)
  const startMs = startOf(ctx, organizations)
  return collectionIds
    .filter((id) => hasCoverage || !needs(id, 'coverage'))
    .map((id) => ({ id, title: collections[id].title, description: collections[id].description, startMs }))
}

/** One of the collections. Throws 404, 403, and 403 `plan_feature` if no plan includes it. */
export async function readableCollection(
  ctx: FleetContext,
  organizationId: string | undefined,
  id: CollectionId,
): Promise<ReadableCollection> {
  const { title, description, needed } = collections[id]
  const organizations = await mappedOrganizations(ctx, organizationId, needed)
  return { id, title, description, startMs: startOf(ctx, organizations) }
}

const needs = (id: CollectionId, feature: Needed[number]): boolean =>
  (collections[id].needed as readonly string[]).includes(feature)

const hourMs = 3_600_000

/** To the hour, so that a collection is the same in all documents. */
function startOf({ clock }: FleetContext, organizations: readonly { historyDays: number }[]): number {
  const nowMs = clock()
  const startMs = Math.min(nowMs, ...organizations.map(({ historyDays }) => planStartMs(historyDays, nowMs)))
  return Math.floor(startMs / hourMs) * hourMs
}
