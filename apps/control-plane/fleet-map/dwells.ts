import type { FleetContext } from '#fleet/context'
import { groupMembers, mappedOrganizations } from '#fleet/fleet-map/access'
import { contains } from '#fleet/fleet-map/filter'
import { deviceIdsWith } from '#fleet/fleet-map/registry'
import { type DwellRange, type DwellRow, dwellsTouching } from '#questdb/dwells'
import { planStartMs, requestedWindow } from '../telemetry/window.ts'
import { visibleDwells } from './dwell-lists.ts'
import { dwellView } from './dwell-view.ts'
import type { FleetMaps } from './fleet-maps.ts'
import type { DwellsQuery } from './query.ts'

type Position = { nowMs: number; arrivedAtMs: number; deviceId: string }

const defaultMinutes = 1_440

/** Dwells that touch the window, newest arrival first. Throws 404, 403, and 400 for a wrong window. */
export async function listDwells(ctx: FleetContext, fleet: FleetMaps, query: DwellsQuery, after: string | undefined) {
  const position = after === undefined ? undefined : (JSON.parse(after) as Position)
  const nowMs = position?.nowMs ?? ctx.clock()
  const window = requestedWindow(query, nowMs, defaultMinutes)
  const organizations = await mappedOrganizations(ctx, query.orgId, ['fleetGps'])
  const members = query.groupId === undefined ? undefined : await groupMembers(ctx, organizations, query.groupId)
  const { tag, deviceId } = query
  const perOrganization = await Promise.all(
    organizations.map(async ({ organizationId, historyDays }): Promise<DwellRow[]> => {
      const filter = { tags: tag, members }
      const wanted = tag || members ? await deviceIdsWith(ctx.pool, organizationId, filter) : undefined
      const range: DwellRange = {
        organizationId,
        fromMs: Math.max(window.fromMs, planStartMs(historyDays, nowMs)),
        toMs: window.toMs,
        nowMs,
        deviceIds: deviceId === undefined ? wanted : [deviceId].filter((id) => wanted?.includes(id) ?? true),
        minDurationMs: query.minDurationS === undefined ? undefined : query.minDurationS * 1_000,
        ongoing: query.ongoing,
        after: position,
      }
      return visiblePage(ctx, fleet, range, query)
    }),
  )
  const found = perOrganization
    .flat()
    .sort((a, b) => b.arrivedAtMs - a.arrivedAtMs || (a.deviceId < b.deviceId ? -1 : 1))
  const rows = found.slice(0, query.limit)
  const signals = await fleet.dwellSignals.read(rows, nowMs)
  const last = rows.at(-1)
  const next: Position | null =
    last && found.length > rows.length ? { nowMs, arrivedAtMs: last.arrivedAtMs, deviceId: last.deviceId } : null
  return {
    items: rows.map((row) => dwellView(row, signals.get(row.id) ?? null, nowMs)),
    nextAfter: next && JSON.stringify(next),
  }
}

/** Reads on until a page and one more are visible, or there are no more. */
async function visiblePage(
  ctx: FleetContext,
  fleet: FleetMaps,
  range: DwellRange,
  { bbox, limit }: DwellsQuery,
): Promise<DwellRow[]> {
  const visible: DwellRow[] = []
  const pageSize = limit + 1
  let after = range.after
  for (;;) {
    const rows = await dwellsTouching(fleet.questdb, { ...range, after, limit: pageSize })
    const owned = await visibleDwells(ctx.pool, range.organizationId, rows)
    visible.push(...owned.filter(({ lat, lon }) => !bbox || contains(bbox, lat, lon)))
    const last = rows.at(-1)
    if (visible.length >= pageSize || rows.length < pageSize || !last) return visible.slice(0, pageSize)
    after = { arrivedAtMs: last.arrivedAtMs, deviceId: last.deviceId }
  }
}
