import type { Clock } from '#core/clock'
import { type BoundingBox, contains } from '#fleet/fleet-map/filter'
import { deviceIdsWith, ownershipOf } from '#fleet/fleet-map/registry'
import type { Revisions } from '#fleet/fleet-map/revisions'
import { createSharedLists, type SharedLists } from '#fleet/fleet-map/shared-lists'
import type { Pool } from '#postgres/pool'
import type { DwellSignals } from '#questdb/dwell-signals'
import { type DwellRow, dwellsTouching } from '#questdb/dwells'
import type { QuestdbSql } from '#questdb/sql'
import type { DwellSignal } from '#telemetry/dwell-signal'
import { clockAheadMs } from '../telemetry/window.ts'
import type { OrganizationWindow } from './coverage-lists.ts'

export type DwellRequest = {
  organizations: readonly OrganizationWindow[]
  bbox: BoundingBox | undefined
  groupId: string | undefined
  members: ReadonlySet<string> | undefined
  tags: readonly string[] | undefined
}

/** A dwell with its signal; null where a list is too long to look at the signal of each. */
export type SignalledDwell = { row: DwellRow; signal: DwellSignal | null }

export type DwellLists = SharedLists<DwellRequest, null, SignalledDwell>

type Sources = { pool: Pool; questdb: QuestdbSql; dwellSignals: DwellSignals; clock: Clock; revisions: Revisions }

const longestLifeMs = 25_000
const maxSignalled = 500

/** Dwells that touch a window, shared among all who look at the same. */
export const createDwellLists = (sources: Sources): DwellLists =>
  createSharedLists({
    ...sources,
    longestLifeMs,
    keyOf: ({ members: _members, ...request }) => JSON.stringify(request),
    identify: ({ row }) => row.id,
    contentOf: (dwell) => JSON.stringify(dwell),
    make: (request) => readDwells(sources, request),
  })

async function readDwells({ pool, questdb, dwellSignals, clock }: Sources, request: DwellRequest) {
  const nowMs = clock()
  const { bbox, tags, members } = request
  const perOrganization = await Promise.all(
    request.organizations.map(async ({ organizationId, windowMs }) => {
      const range = { organizationId, fromMs: nowMs - windowMs, toMs: nowMs + clockAheadMs, nowMs }
      const deviceIds = tags || members ? await deviceIdsWith(pool, organizationId, { tags, members }) : undefined
      return visibleDwells(pool, organizationId, await dwellsTouching(questdb, { ...range, deviceIds }))
    }),
  )
  const rows = perOrganization.flat().filter(({ lat, lon }) => !bbox || contains(bbox, lat, lon))
  const signals = rows.length <= maxSignalled ? await dwellSignals.read(rows, nowMs) : new Map<string, DwellSignal>()
  return { facts: null, items: rows.map((row) => ({ row, signal: signals.get(row.id) ?? null })) }
}

/** Those that began while the organization owned the device; none of a deleted device. */
export async function visibleDwells(
  pool: Pool,
  organizationId: string,
  rows: readonly DwellRow[],
): Promise<DwellRow[]> {
  const deviceIds = rows.map((row) => row.deviceId)
  const owned = await ownershipOf(pool, organizationId, deviceIds)
  return rows.filter(({ deviceId, arrivedAtMs }) =>
    owned.get(deviceId)?.some(({ fromMs, toMs }) => arrivedAtMs >= fromMs && arrivedAtMs < toMs),
  )
}
