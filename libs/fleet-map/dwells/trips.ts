import { throwIfClosed } from '#core/errors'
import type { Towns } from '#core/near'
import type { FleetContext } from '#fleet/context'
import { deviceIdsWith } from '#fleet/groups/filtered-devices'
import { type DeviceQuery, mappedOrganizations, queriedGroup } from '#fleet-map/access'
import { intervalsOf } from '#fleet-map/dwells/dwell-lists'
import { placesContaining } from '#fleet-map/places/filter'
import { planStartMs, requestedWindow, type WindowQuery } from '#fleet-map/window'
import type { Reader } from '#questdb/copies/readers'
import type { DwellSignals, SignalledStretch } from '#questdb/fleet/dwell-signals'
import { type WayRange, type WayRow, wayReports, waysIn } from '#questdb/fleet/ways'
import type { Point } from '#telemetry/geo/geo'
import { touches } from '#telemetry/geo/line-in-box'
import { type DistinctFix, distinctFixes } from '#telemetry/position/distinct-fixes'
import { type Trip, tripsOf } from '#telemetry/position/trips'

type TripsQuery = DeviceQuery &
  WindowQuery & {
    deviceId?: string | undefined
    limit: number
    /** Returns the line of each trip with at most this many positions. `bbox` then selects trips whose line touches it. */
    maxPositions?: number | undefined
  }

/** A way's place in the list, newest departure first, then by device. */
type Place = { departedAtMs: number; deviceId: string }
/** `taken`: how many trips of the way were returned; null: all. */
type Position = Place & { taken: number | null; nowMs: number }

type FoundTrip = Trip & { id: string; deviceId: string; organizationId: string; line?: Point[] }

const defaultMinutes = 1_440
const waysAtOnce = 4

/**
 * The trips of ways that began in the window, newest departure from a dwell first; those of one way newest first. Throws 404, 403,
 * and 400 for a wrong window.
 */
export async function listTrips(
  ctx: FleetContext,
  fleet: { dwellSignals: DwellSignals; towns: Towns },
  reader: Reader,
  query: TripsQuery,
  after: string | undefined,
) {
  const position = after === undefined ? undefined : (JSON.parse(after) as Position)
  const nowMs = position?.nowMs ?? ctx.clock()
  const { ways, end } = await readWays(ctx, reader, query, position, nowMs)
  const perWay = await tripsOfWays(reader, ways, nowMs, query)
  const trips: FoundTrip[] = []
  let next = end && { ...placeOf(end), taken: null as number | null }
  for (const [index, way] of ways.entries()) {
    const found = perWay[index] ?? []
    const skipped = position && newestFirst(position, way) === 0 ? (position.taken ?? 0) : 0
    const taken = found.slice(skipped, skipped + query.limit - trips.length)
    trips.push(...taken)
    if (skipped + taken.length >= found.length) continue
    next = { ...placeOf(way), taken: skipped + taken.length }
    break
  }
  const ends = trips.flatMap(endsOf)
  const [signals, places, near] = await Promise.all([
    fleet.dwellSignals.read(reader, trips.map(stretchOf), nowMs),
    placesContaining(ctx.pool, ends),
    fleet.towns.near(ends),
  ])
  return {
    items: trips.map((trip, index) => {
      const { rsrpP50Dbm = null, sinrP50Db = null, noServiceS = null } = signals.get(trip.id) ?? {}
      const [from, to] = endsOf(trip).map(({ id, lat, lon }, end) => {
        const [place] = places.get(id) ?? []
        const named = { placeId: place?.id ?? null, placeName: place?.name ?? null }
        return { lat, lon, near: near[2 * index + end] ?? null, ...named }
      })
      return {
        deviceId: trip.deviceId,
        departedAt: new Date(trip.departedAtMs).toISOString(),
        arrivedAt: trip.arrivedAtMs === null ? null : new Date(trip.arrivedAtMs).toISOString(),
        from,
        to,
        distanceM: Math.round(trip.distanceM),
        durationS: Math.round((trip.lastMs - trip.departedAtMs) / 1_000),
        gap: trip.gap,
        noServiceS,
        rsrpP50Dbm,
        sinrP50Db,
        ...(trip.line && { line: trip.line }),
      }
    }),
    nextAfter: next && JSON.stringify({ nowMs, ...next } satisfies Position),
  }
}

const placeOf = ({ departedAtMs, deviceId }: Place): Place => ({ departedAtMs, deviceId })

const newestFirst = (a: Place, b: Place): number =>
  b.departedAtMs - a.departedAtMs || (a.deviceId === b.deviceId ? 0 : a.deviceId < b.deviceId ? -1 : 1)

/** The next ways of all organizations, at most as many as a page may have trips. `end`: the last of them if there are more. */
async function readWays(
  ctx: FleetContext,
  { questdb }: Reader,
  query: TripsQuery,
  position: Position | undefined,
  nowMs: number,
): Promise<{ ways: WayRow[]; end: WayRow | null }> {
  const window = requestedWindow(query, nowMs, defaultMinutes)
  const organizations = await mappedOrganizations(ctx, query.orgId, ['fleetGps'])
  const group = await queriedGroup(ctx, organizations, query.groupId)
  const { tag, deviceId, limit } = query
  const perOrganization = await Promise.all(
    organizations.map(async ({ organizationId, historyDays }) => {
      const wanted = await deviceIdsWith(ctx.pool, organizationId, { tags: tag, group })
      const range: WayRange = {
        organizationId,
        fromMs: Math.max(window.fromMs, planStartMs(historyDays, nowMs)),
        toMs: window.toMs,
        deviceIds: deviceId === undefined ? wanted : [deviceId].filter((id) => wanted?.includes(id) ?? true),
        after: position && { ...position, isDone: position.taken === null },
        limit: limit + 1,
      }
      return waysIn(questdb, range)
    }),
  )
  const all = perOrganization.flat().sort(newestFirst)
  const page = all.slice(0, limit)
  const visible = new Map<WayRow, WayRow>()
  for (const [organizationId, ways] of Map.groupBy(page, (way) => way.organizationId)) {
    const ownedAt = await intervalsOf(ctx.pool, organizationId, ways)
    for (const way of ways) {
      const owned = ownedAt(way, way.departedAtMs)
      if (owned) visible.set(way, endingBy(way, owned.toMs))
    }
  }
  const end = all.length > limit ? page.at(-1) : undefined
  return { ways: page.flatMap((way) => visible.get(way) ?? []), end: end ?? null }
}

/** A way that was not over at the transfer of its device ends with it. */
const endingBy = (way: WayRow, endMs: number): WayRow =>
  way.arrivedAtMs === null && endMs !== Number.POSITIVE_INFINITY ? { ...way, arrivedAtMs: endMs } : way

/** The trips of each way, newest first. */
async function tripsOfWays(
  reader: Reader,
  ways: readonly WayRow[],
  nowMs: number,
  { maxPositions, bbox }: Pick<TripsQuery, 'maxPositions' | 'bbox'>,
): Promise<FoundTrip[][]> {
  const found: FoundTrip[][] = []
  const left = ways.entries()
  const worker = async () => {
    for (const [index, way] of left) {
      throwIfClosed(reader.signal)
      const fixes = distinctFixes(await wayReports(reader.questdb, way, nowMs))
      const { arrivedAtMs, deviceId, organizationId } = way
      const arrival = arrivedAtMs === null ? -1 : fixes.findIndex(({ timeMs }) => timeMs >= arrivedAtMs)
      const trips = tripsOf(way, arrival === -1 ? fixes : fixes.slice(0, arrival + 1)).map((trip): FoundTrip => {
        const known = { ...trip, id: `trip ${deviceId} ${trip.departedAtMs}`, deviceId, organizationId }
        return maxPositions === undefined ? known : { ...known, line: lineOf(trip, fixes, maxPositions) }
      })
      found[index] = trips.filter(({ line }) => !bbox || !line || touches(bbox, line)).reverse()
    }
  }
  await Promise.all(Array.from({ length: waysAtOnce }, worker))
  return found
}

/** The positions of a trip from end to end. Of more than `maxPositions`, some evenly over its fixes. */
function lineOf(trip: Trip, fixes: readonly DistinctFix[], maxPositions: number): Point[] {
  const between = fixes.filter(({ timeMs }) => timeMs > trip.departedAtMs && timeMs < trip.lastMs)
  const step = Math.max(1, between.length / (maxPositions - 2))
  const kept = Array.from({ length: Math.floor(between.length / step) }, (_, at) => between[Math.floor(at * step)])
  return [trip.from, ...kept.flatMap((fix) => (fix ? [{ lat: fix.lat, lon: fix.lon }] : [])), trip.to]
}

const stretchOf = ({ id, deviceId, organizationId, departedAtMs, lastMs }: FoundTrip): SignalledStretch => ({
  ...{ id, deviceId, organizationId },
  ...{ arrivedAtMs: departedAtMs, departedAtMs: lastMs },
})

const endsOf = ({ id, organizationId, from, to }: FoundTrip) => [
  { id: `${id} from`, organizationId, ...from },
  { id: `${id} to`, organizationId, ...to },
]
