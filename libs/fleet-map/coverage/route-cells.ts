import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import type { VoteFilter } from '#questdb/coverage-source'
import type { Reader } from '#questdb/readers'
import { signalTallies, votersOfCells } from '#questdb/signal-tallies'
import { type CellTallies, forecastResolutions, sourceCell } from '#telemetry/forecast'
import { votesThatStandAlone } from '#telemetry/signal-blend'
import type { SignalTally } from '#telemetry/signal-tally'

/** Input of a forecast: the votes of the cells around a route, and the devices of the cells that it uses. */
type RouteVotes = { tallies: CellTallies; devices: ReadonlyMap<string, number> }

export type RouteCells = {
  /**
   * Reads the input of `forecastSegments` for points with these cells, each a list from the finest to the coarsest
   * resolution. `key` identifies the filters: cells of the same key are cached for a minute.
   */
  read(
    reader: Reader,
    key: string,
    filters: () => Promise<readonly VoteFilter[]>,
    chains: readonly (readonly string[])[],
  ): Promise<RouteVotes>
}

// The views lag by a minute and a half. Routes change point by point while they are drawn.
const lifeMs = 60_000
// About 8 bytes each.
const maxNumbers = 5_000_000
const maxVoterCounts = 100_000

/** Votes by cell, shared by all forecasts with the same filters. */
export function createRouteCells({ clock }: { clock: Clock }): RouteCells {
  const perf = { now: clock }
  const known = new LRUCache<string, SignalTally>({
    ttl: lifeMs,
    perf,
    maxSize: maxNumbers,
    sizeCalculation: sizeOf,
  })
  const knownVoters = new LRUCache<string, number>({ ttl: lifeMs, perf, max: maxVoterCounts })

  return {
    async read({ questdb, heavy }, key, readFilters, chains) {
      let filters: Promise<readonly VoteFilter[]> | undefined
      const read = async <Value>(
        cache: Pick<LRUCache<string, NonNullable<Value>>, 'get' | 'set'>,
        cells: Iterable<string>,
        readMissing: (filters: readonly VoteFilter[], cells: string[]) => Promise<Map<string, NonNullable<Value>>>,
      ) => {
        const found = new Map<string, NonNullable<Value>>()
        const missing: string[] = []
        for (const h3 of new Set(cells)) {
          const value = cache.get(`${key} ${h3}`)
          if (value === undefined) missing.push(h3)
          else found.set(h3, value)
        }
        if (missing.length === 0) return found
        filters ??= readFilters()
        const from = await filters
        for (const [h3, value] of await heavy(() => readMissing(from, missing))) {
          cache.set(`${key} ${h3}`, value)
          found.set(h3, value)
        }
        return found
      }
      const tallies = new Map<string, SignalTally>()
      const readLevel = async (level: number, cells: string[]) => {
        const resolution = forecastResolutions[level] ?? 10
        const missing = await read(known, cells, (from, wanted) => signalTallies(questdb, from, resolution, wanted))
        for (const [h3, tally] of missing) tallies.set(h3, tally)
      }
      await readLevel(0, cellsOf(chains, 0))
      const sparse = chains.filter(([finest = '']) => (tallies.get(finest)?.samples ?? 0) < votesThatStandAlone)
      await Promise.all(forecastResolutions.map((_, level) => level > 0 && readLevel(level, cellsOf(sparse, level))))

      const segmentsBy = Map.groupBy(
        chains.flatMap((cells) => sourceCell(cells, tallies) ?? []),
        ({ h3Resolution }) => h3Resolution,
      )
      const devices = await Promise.all(
        [...segmentsBy].map(([resolution, segments]) =>
          read(
            knownVoters,
            segments.map(({ h3 }) => h3),
            (from, wanted) => votersOfCells(questdb, from, resolution, wanted),
          ),
        ),
      )
      return { tallies, devices: new Map(devices.flatMap((counts) => [...counts])) }
    },
  }
}

const cellsOf = (chains: readonly (readonly string[])[], level: number): string[] =>
  chains.map((cells) => cells[level] ?? '')

/** Numbers in the lists of a tally. */
function sizeOf({ rsrp, sinr, byRat, byPlmn }: SignalTally): number {
  let numbers = 1 + rsrp.length + sinr.length
  for (const part of [...byRat.values(), ...byPlmn.values()]) numbers += 1 + part.rsrp.length
  return numbers
}
