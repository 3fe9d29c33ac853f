import type { Clock } from '#core/clock'
import { addTo } from '#core/counts'
import { createSharedReads } from '#core/shared-reads'
import { keyOf, type VoteRequest, voteFilters } from '#fleet-map/coverage/vote-filters'
import type { FairPool } from '#postgres/fair-pool'
import type { Reader } from '#questdb/copies/readers'
import { deadCells, zoneOperators, zoneVoters } from '#questdb/votes/dead-cells'
import { type DeadZone, joinDeadZones, rankOperators } from '#telemetry/coverage/dead-zones'

/** All dead zones of a request at `madeMs`, worst first. */
type DeadZoneList = { madeMs: number; zones: DeadZone[] }

export type ZoneDetails = { devices: number; worstPlmn: string | null; bestPlmn: string | null }

export type DeadZoneLists = {
  /** A list that is at most 25 s old. For a later page: the list made at `madeMs`, counted again if it is not cached. */
  read(reader: Reader, request: VoteRequest, madeMs?: number): Promise<DeadZoneList>
  /** Devices and operators of zones of a list, in the same order. */
  details(reader: Reader, request: VoteRequest, zones: readonly DeadZone[], madeMs: number): Promise<ZoneDetails[]>
}

// With the lag of the views, data is at most two minutes old.
const freshMs = 25_000
// All pages use the list of the first page.
const keptMs = 10 * 60_000
const maxKeptCells = 200_000
const maxRequests = 1_000

/** Dead zones of the whole window of a request, shared by all boxes and pages. */
export function createDeadZoneLists({ pools, clock }: { pools: FairPool; clock: Clock }): DeadZoneLists {
  const lists = createSharedReads<DeadZoneList>({
    clock,
    maxSize: maxKeptCells,
    sizeOf: ({ zones }) => zones.reduce((sum, { cells }) => sum + cells.length, 1),
    agesOf: (_list, startedMs) => ({ freshUntilMs: startedMs + keptMs }),
    forgottenAfterMs: keptMs,
  })
  const newest = createSharedReads<DeadZoneList>({
    clock,
    maxSize: maxRequests,
    agesOf: ({ madeMs }) => ({ freshUntilMs: madeMs + freshMs }),
    forgottenAfterMs: freshMs,
  })

  const make = async (reader: Reader, request: VoteRequest, madeMs: number): Promise<DeadZoneList> => {
    // Finish the list even if this caller disconnects, because other callers wait for it.
    const { questdb, heavy } = reader.detached()
    const filters = await voteFilters({ pool: pools.of(reader.owner), questdb }, request, madeMs)
    const cells = await heavy(() => deadCells(questdb, filters))
    return { madeMs, zones: joinDeadZones(cells) }
  }

  return {
    async read(reader, request, madeMs) {
      const key = keyOf(request)
      const listOf = (ms: number) => lists.read(`${key} ${ms}`, () => make(reader, request, ms))
      return madeMs === undefined ? newest.read(key, () => listOf(clock())) : listOf(madeMs)
    },
    async details({ owner, questdb, heavy }, request, zones, madeMs) {
      if (zones.length === 0) return []
      const cells = zones.map((zone) => zone.cells)
      const filters = await voteFilters({ pool: pools.of(owner), questdb }, request, madeMs)
      const count = () =>
        Promise.all([
          Promise.all(filters.map((filter) => zoneOperators(questdb, filter, cells))),
          Promise.all(filters.map((filter) => zoneVoters(questdb, filter, cells))),
        ])
      const [operators, voters] = await heavy(count)
      return zones.map((_, index) => ({
        devices: voters.reduce((sum, counts) => sum + (counts[index] ?? 0), 0),
        ...rankOperators(mergeOperators(operators.flatMap((byZone) => byZone[index] ?? []))),
      }))
    },
  }
}

type Operators = Awaited<ReturnType<typeof zoneOperators>>[number]

/** Merges votes of the same operator in several organizations. */
function mergeOperators(operators: Operators): Operators {
  const merged = new Map<string, Operators[number]>()
  for (const { plmn, samples, inService, rsrp } of operators) {
    const sum = merged.get(plmn) ?? { plmn, samples: 0, inService: 0, rsrp: new Map<number, number>() }
    merged.set(plmn, sum)
    sum.samples += samples
    sum.inService += inService
    for (const [bin, votes] of rsrp) addTo(sum.rsrp, bin, votes)
  }
  return [...merged.values()]
}
