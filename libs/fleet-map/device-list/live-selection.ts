import { forEachInSlices } from '#core/slices'
import { authorize, organizationsWith } from '#fleet/access/principal'
import type { Scope } from '#fleet/access/scopes'
import type { FleetContext } from '#fleet/context'
import {
  isLiveSort,
  type LiveFilter,
  type LiveSelection,
  type LiveSortKey,
  liveSortKey,
  liveSources,
} from '#fleet/devices/live-filter'
import { mappedOrganizations } from '#fleet-map/access'
import { type DataUseTotals, dataUseSource } from '#fleet-map/device-list/data-use-totals'
import type { ListSource } from '#fleet-map/device-list/list-source'
import { type LiveValue, liveOrder } from '#fleet-map/device-list/live-order'
import { isMapSort, mapSource } from '#fleet-map/device-list/live-values'
import { type NearestTowns, townSource } from '#fleet-map/device-list/nearest-towns'
import type { LiveMaps } from '#fleet-map/live/live-maps'
import { planWindows } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'

/** A device list knows signals that are at most so old. */
export const liveMinutes = 1_440

export type ListValues = { live: LiveMaps; dataUse: DataUseTotals; nearestTowns: NearestTowns }
type LiveRequest = { orgId?: string | undefined; filter: LiveFilter; sort?: string | undefined }
type Asked = { filter: LiveFilter; key: LiveSortKey | undefined }

/**
 * Selects the devices of a list from the live maps (`fleet:read`), the nearest towns (`fleet:read`) and the totals of data use
 * (`telemetry:read`), as they are now. Undefined if neither the filter nor the order asks one of them. Throws 404, 403, and 403
 * `plan_feature`.
 */
export async function selectLive(
  ctx: FleetContext,
  fleet: ListValues,
  reader: Reader,
  { orgId, filter, sort }: LiveRequest,
): Promise<LiveSelection | undefined> {
  const liveSort = isLiveSort(sort) ? sort : undefined
  const asked = liveSources(filter, liveSort)
  if (asked.size === 0) return undefined
  const key = liveSort && liveSortKey(liveSort)
  const openings: Opening[] = []
  if (asked.has('map')) openings.push(await openMaps(ctx, fleet, reader, orgId))
  if (asked.has('towns')) openings.push(await openTowns(ctx, fleet, orgId))
  if (asked.has('dataUse')) openings.push(await openTotals(ctx, fleet, orgId))
  const organizationIds = openings
    .map((opening) => opening.organizationIds)
    .reduce((some, others) => some.filter((id) => others.includes(id)))
  const ids: string[] = []
  const values: LiveValue[] = []
  for (const organizationId of organizationIds) {
    const sources = await Promise.all(openings.map(({ open }) => open(organizationId, { filter, key })))
    const sorting = sources[openings.findIndex(({ sorts }) => key !== undefined && sorts(key))]
    await forEachInSlices(sources[0]?.ids() ?? [], (id) => {
      if (!sources.every((source) => source.matches(id))) return
      ids.push(id)
      values.push(sorting?.valueOf(id) ?? null)
    })
  }
  return { organizationIds, ids, ...liveOrder(ids, values, liveSort?.startsWith('-') ?? true) }
}

/** The organizations whose devices a source can select for the caller, and the source of each. */
type Opening = {
  organizationIds: readonly string[]
  sorts(key: LiveSortKey): boolean
  open(organizationId: string, asked: Asked): Promise<ListSource>
}

async function openMaps(
  ctx: FleetContext,
  { live }: ListValues,
  reader: Reader,
  orgId: string | undefined,
): Promise<Opening> {
  const { organizations } = planWindows(await mappedOrganizations(ctx, orgId, ['fleetGps']), liveMinutes)
  const nowMs = ctx.clock()
  const windows = new Map(organizations.map(({ organizationId, windowMs }) => [organizationId, nowMs - windowMs]))
  return {
    organizationIds: [...windows.keys()],
    sorts: isMapSort,
    async open(organizationId, { filter, key }) {
      const fromMs = windows.get(organizationId) ?? nowMs
      return mapSource(await live.read(organizationId, fromMs, reader), fromMs, filter, key)
    },
  }
}

const openTowns = async (
  ctx: FleetContext,
  { nearestTowns }: ListValues,
  orgId: string | undefined,
): Promise<Opening> => ({
  organizationIds: await organizationIdsWith(ctx, orgId, 'fleet:read'),
  sorts: (key) => key === 'near',
  open: async (organizationId, { filter }) => townSource(await nearestTowns.read(organizationId), filter),
})

const openTotals = async (ctx: FleetContext, { dataUse }: ListValues, orgId: string | undefined): Promise<Opening> => ({
  organizationIds: await organizationIdsWith(ctx, orgId, 'telemetry:read'),
  sorts: (key) => key === 'dataToday' || key === 'dataMonth',
  open: async (organizationId, { filter, key }) => dataUseSource(await dataUse.read(organizationId), filter, key),
})

/** The requested organization, or all in which the caller holds the scope. Throws 404 and 403. */
async function organizationIdsWith(
  { pool, principal }: Pick<FleetContext, 'pool' | 'principal'>,
  orgId: string | undefined,
  scope: Scope,
): Promise<readonly string[]> {
  if (orgId !== undefined) {
    authorize(principal, orgId, scope)
    return [orgId]
  }
  const held = organizationsWith(principal, scope)
  if (held !== 'all') return held
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM organization ORDER BY id')
  return rows.map(({ id }) => id)
}
