import type { Towns } from '#core/near'
import type { FleetContext } from '#fleet/context'
import { deviceIdsWith } from '#fleet/groups/filtered-devices'
import { type DeviceQuery, mappedOrganizations, queriedGroup } from '#fleet-map/access'
import { visibleDwells } from '#fleet-map/dwells/dwell-lists'
import { dwellView } from '#fleet-map/dwells/dwell-view'
import { type PlaceFilter, placeFilter, placesContaining } from '#fleet-map/places/filter'
import { planStartMs, requestedWindow, type WindowQuery } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import type { DwellSignals } from '#questdb/fleet/dwell-signals'
import { type DwellRange, dwellsTouching, type StoredDwellRow } from '#questdb/fleet/dwells'

type DwellsQuery = DeviceQuery &
  WindowQuery & {
    deviceId?: string | undefined
    placeId?: string | undefined
    minDurationS?: number | undefined
    ongoing?: boolean | undefined
    limit: number
  }

/** A dwell's position in the list, which is sorted by arrival, newest first, then by device id. */
type Place = { arrivedAtMs: number; deviceId: string }
type Position = Place & { nowMs: number }

const defaultMinutes = 1_440

/** Dwells that touch the window, newest arrival first. Throws 404, 403, and 400 for a wrong window. */
export async function listDwells(
  ctx: FleetContext,
  fleet: { dwellSignals: DwellSignals; towns: Towns },
  reader: Reader,
  query: DwellsQuery,
  after: string | undefined,
) {
  const position = after === undefined ? undefined : (JSON.parse(after) as Position)
  const nowMs = position?.nowMs ?? ctx.clock()
  const window = requestedWindow(query, nowMs, defaultMinutes)
  const organizations = await mappedOrganizations(ctx, query.orgId, ['fleetGps'])
  const group = await queriedGroup(ctx, organizations, query.groupId)
  const place = await placeFilter(ctx.pool, organizations, query.placeId)
  const { tag, deviceId } = query
  const perOrganization = await Promise.all(
    organizations.map(async ({ organizationId, historyDays }): Promise<FoundDwells> => {
      const wanted = await deviceIdsWith(ctx.pool, organizationId, { tags: tag, group })
      const range: DwellRange = {
        organizationId,
        fromMs: Math.max(window.fromMs, planStartMs(historyDays, nowMs)),
        toMs: window.toMs,
        nowMs,
        deviceIds: deviceId === undefined ? wanted : [deviceId].filter((id) => wanted?.includes(id) ?? true),
        minDurationMs: query.minDurationS === undefined ? undefined : query.minDurationS * 1_000,
        ongoing: query.ongoing,
        bbox: query.bbox ?? place?.bounds,
        after: position,
      }
      return visibleAfter(ctx, reader, range, query.limit + 1, place)
    }),
  )
  const { rows, next } = mergePages(perOrganization, query.limit)
  const [signals, places, near] = await Promise.all([
    fleet.dwellSignals.read(reader, rows, nowMs),
    placesContaining(ctx.pool, rows),
    fleet.towns.near(rows),
  ])
  return {
    items: rows.map((row, index) => ({
      ...dwellView(row, signals.get(row.id) ?? null, nowMs),
      near: near[index] ?? null,
      ...(places.has(row.id) ? { places: places.get(row.id) } : {}),
    })),
    nextAfter: next && JSON.stringify({ nowMs, ...next } satisfies Position),
  }
}

/** `stoppedAt`: where the search stopped before the page was full; undefined if the page is full or the last one. */
type FoundDwells = { rows: StoredDwellRow[]; stoppedAt?: Place | undefined }

const smallestStep = 1_000
const maxSteps = 10

/**
 * The next visible dwells, at most `pageSize`. Skips rows of deleted and transferred devices, and outside `place`. Stops after 10 queries;
 * the next page continues from there.
 */
async function visibleAfter(
  { pool }: FleetContext,
  { questdb }: Reader,
  range: DwellRange,
  pageSize: number,
  place: PlaceFilter | undefined,
): Promise<FoundDwells> {
  const visible: StoredDwellRow[] = []
  let after = range.after
  for (let step = 0; step < maxSteps; step++) {
    // Hidden rows are rare, so the first query usually returns a full page.
    const limit = step === 0 ? pageSize : Math.max(smallestStep, pageSize)
    const rows = await dwellsTouching(questdb, { ...range, after, limit })
    const inside = place ? rows.filter((row) => place.contains(row)) : rows
    visible.push(...(await visibleDwells(pool, range, inside)))
    const last = rows.at(-1)
    if (visible.length >= pageSize) return { rows: visible.slice(0, pageSize) }
    if (rows.length < limit || !last) return { rows: visible }
    after = placeOf(last)
  }
  return { rows: visible, stoppedAt: after }
}

/** Merges several organizations' dwells into one page, up to the position at which the first search stopped. */
function mergePages(found: readonly FoundDwells[], limit: number): { rows: StoredDwellRow[]; next: Place | null } {
  const stops = found.flatMap(({ stoppedAt }) => (stoppedAt ? [stoppedAt] : [])).sort(newestFirst)
  const [stop] = stops
  const known = found
    .flatMap(({ rows }) => rows)
    .filter((row) => !stop || newestFirst(row, stop) <= 0)
    .sort(newestFirst)
  const rows = known.slice(0, limit)
  const last = rows.at(-1)
  if (last && known.length > rows.length) return { rows, next: placeOf(last) }
  return { rows, next: stop ?? null }
}

const placeOf = ({ arrivedAtMs, deviceId }: StoredDwellRow): Place => ({ arrivedAtMs, deviceId })

const newestFirst = (a: Place, b: Place): number =>
  b.arrivedAtMs - a.arrivedAtMs || (a.deviceId === b.deviceId ? 0 : a.deviceId < b.deviceId ? -1 : 1)
