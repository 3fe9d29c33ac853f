import type { Clock } from '#core/clock'
import { ServiceError } from '#core/errors'
import { forEachInSlices, mapInSlices } from '#core/slices'
import { ownershipOf } from '#fleet/devices/ownership'
import type { EffectiveGroup } from '#fleet/groups/effective-members'
import { deviceIdsWith } from '#fleet/groups/filtered-devices'
import { cacheBytes, maxDwells } from '#fleet-map/memory-limits'
import type { Revisions } from '#fleet-map/revisions'
import { createSharedLists, type SharedLists } from '#fleet-map/shared-lists'
import { type OrganizationWindow, rangeOf } from '#fleet-map/window'
import type { FairPool } from '#postgres/fair-pool'
import type { Pool } from '#postgres/pool'
import type { Reader } from '#questdb/copies/readers'
import type { DwellSignals } from '#questdb/fleet/dwell-signals'
import { type DwellRange, dwellsTouching, type StoredDwellRow } from '#questdb/fleet/dwells'
import type { DwellSignal } from '#telemetry/coverage/dwell-signal'
import type { BoundingBox } from '#telemetry/geo/geo'

type DwellRequest = {
  /** Whose share and copy are used, unless the list is already being made for another caller. */
  reader: Reader
  organizations: readonly OrganizationWindow[]
  bbox: BoundingBox | undefined
  group: EffectiveGroup | undefined
  tags: readonly string[] | undefined
}

/** A dwell with its signal; null in a list that is too long to read the signals. */
type SignalledDwell = { row: StoredDwellRow; signal: DwellSignal | null }

export type DwellLists = SharedLists<DwellRequest, null, SignalledDwell>

type Sources = { pools: FairPool; dwellSignals: DwellSignals; clock: Clock; revisions: Revisions }

const longestLifeMs = 25_000
const maxSignalled = 500
const pageDwells = 20_000
// Measured: 330 bytes without its signal, which lists of more than 500 do not have.
const dwellBytes = 400

/** Dwells that overlap a window, shared by all callers with the same request. */
export const createDwellLists = (sources: Sources): DwellLists =>
  createSharedLists({
    ...sources,
    longestLifeMs,
    maxBytes: cacheBytes.dwellLists,
    itemBytes: dwellBytes,
    keyOf: ({ group, reader: _reader, ...request }) => JSON.stringify({ groupId: group?.id, ...request }),
    identify: ({ row }) => row.id,
    contentOf: (dwell) => JSON.stringify(dwell),
    make: (request, signal) => {
      const reader = request.reader.detached(signal)
      return reader.heavy(() => readDwells(sources, reader, request))
    },
  })

async function readDwells({ pools, dwellSignals, clock }: Sources, reader: Reader, request: DwellRequest) {
  const pool = pools.of(reader.owner)
  const nowMs = clock()
  const { bbox, tags, group } = request
  const perOrganization = await Promise.all(
    request.organizations.map(async (organization) => {
      const { organizationId } = organization
      const range = { organizationId, ...rangeOf(organization, nowMs), nowMs, bbox }
      const deviceIds = await deviceIdsWith(pool, organizationId, { tags, group })
      const visible: StoredDwellRow[] = []
      for await (const page of dwellPages(reader, { ...range, deviceIds })) {
        for (const row of await visibleDwells(pool, range, page)) visible.push(row)
        if (visible.length > maxDwells) throw tooManyDwells()
      }
      return visible
    }),
  )
  const rows = perOrganization.flat()
  if (rows.length > maxDwells) throw tooManyDwells()
  const signals =
    rows.length <= maxSignalled ? await dwellSignals.read(reader, rows, nowMs) : new Map<string, DwellSignal>()
  return { facts: null, items: await mapInSlices(rows, (row) => ({ row, signal: signals.get(row.id) ?? null })) }
}

/** Reads pages, because the columns of a result and its rows are in memory together. */
async function* dwellPages(reader: Reader, range: DwellRange): AsyncGenerator<StoredDwellRow[]> {
  for (let after: DwellRange['after']; ; ) {
    const page = await dwellsTouching(reader.questdb, { ...range, after, limit: pageDwells })
    yield page
    after = page.at(-1)
    if (page.length < pageDwells) return
  }
}

function tooManyDwells(): ServiceError {
  const detail = `More than ${maxDwells} dwells overlap the window. Send a shorter window or a smaller bbox, leave dwells out of include, or read them page by page from /fleet/dwells.`
  return new ServiceError(400, 'too_many_dwells', detail, {
    errors: [{ pointer: 'sinceMinutes', code: 'too_many_dwells', detail }],
    members: { maxDwells },
  })
}

/**
 * The dwells that began while the organization owned the device, as far as it owned it: a dwell that went on after a transfer ends
 * with it. None of a deleted device, and none that then no longer matches the range.
 */
export async function visibleDwells(
  pool: Pool,
  range: VisibleRange,
  rows: readonly StoredDwellRow[],
): Promise<StoredDwellRow[]> {
  const ownedAt = await intervalsOf(pool, range.organizationId, rows)
  const visible: StoredDwellRow[] = []
  await forEachInSlices(rows, (row) => {
    const owned = ownedAt(row, row.arrivedAtMs)
    const dwell = owned && endingBy(row, owned.toMs)
    if (dwell && isWithin(dwell, range)) visible.push(dwell)
  })
  return visible
}

type VisibleRange = Pick<DwellRange, 'organizationId' | 'fromMs' | 'nowMs' | 'ongoing' | 'minDurationMs'>

function endingBy(row: StoredDwellRow, endMs: number): StoredDwellRow {
  const { departedAtMs, firstOutsideAtMs } = row
  if (endMs === Number.POSITIVE_INFINITY || (firstOutsideAtMs !== null && firstOutsideAtMs < endMs)) return row
  const wasLeft = departedAtMs !== null && departedAtMs < endMs
  return { ...row, departedAtMs: wasLeft ? departedAtMs : endMs, firstOutsideAtMs: null }
}

const isWithin = (
  { arrivedAtMs, departedAtMs }: StoredDwellRow,
  { fromMs, nowMs, ongoing, minDurationMs = 0 }: VisibleRange,
): boolean =>
  (departedAtMs === null || departedAtMs >= fromMs) &&
  (departedAtMs ?? nowMs) - arrivedAtMs >= minDurationMs &&
  !(ongoing && departedAtMs !== null)

/** Returns a function that finds the interval around a time in which the organization owned a device; none for a deleted device. */
export async function intervalsOf(pool: Pool, organizationId: string, rows: readonly { deviceId: string }[]) {
  const owned = await ownershipOf(
    pool,
    organizationId,
    rows.map(({ deviceId }) => deviceId),
  )
  return ({ deviceId }: { deviceId: string }, atMs: number) =>
    owned.get(deviceId)?.find(({ fromMs, toMs }) => atMs >= fromMs && atMs < toMs)
}
