import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import type { VoteFilter } from '#questdb/coverage-source'
import { packedTallies } from '#questdb/packed-votes'
import type { Reader } from '#questdb/readers'
import { votersOfCells } from '#questdb/route-voters'
import { signalTallies } from '#questdb/signal-tallies'
import { type CellTallies, forecastResolutions, sourceCell } from '#telemetry/forecast'
import type { Chain } from '#telemetry/route-tallies'
import { votesThatStandAlone } from '#telemetry/signal-blend'
import type { SignalTally } from '#telemetry/signal-tally'

/** Which votes a forecast uses. `key` identifies the filters: cells of the same key are cached for a minute. */
type RouteVotes = { key: string; filters: () => Promise<readonly VoteFilter[]> }

export type RouteCells = {
  /** The votes around points with these cells, which are a list from the finest to the coarsest resolution each. */
  tallies(reader: Reader, votes: RouteVotes, chains: readonly Chain[]): Promise<CellTallies>
  /** How many devices voted in the cells that describe these points. */
  voters(
    reader: Reader,
    votes: RouteVotes,
    chains: readonly Chain[],
    tallies: CellTallies,
  ): Promise<ReadonlyMap<string, number>>
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
    async tallies({ questdb, heavy }, { key, filters }, chains) {
      const tallies = new Map<string, SignalTally>()
      const keep = (read: ReadonlyMap<string, SignalTally>) => {
        for (const [h3, tally] of read) {
          known.set(`${key} ${h3}`, tally)
          tallies.set(h3, tally)
        }
      }
      const unread = (level: number, among: readonly Chain[]) => {
        const missing = new Set<string>()
        for (const { [level]: h3 = '' } of among) {
          if (tallies.has(h3)) continue
          const tally = known.get(`${key} ${h3}`)
          if (tally) tallies.set(h3, tally)
          else missing.add(h3)
        }
        return missing
      }
      const readLevel = async (level: number, among: readonly Chain[]) => {
        const missing = unread(level, among)
        if (missing.size === 0) return
        const from = await filters()
        const resolution = forecastResolutions[level] ?? 10
        keep(await heavy(() => signalTallies(questdb, from, resolution, [...missing])))
      }
      const missing = unread(0, chains)
      if (missing.size > 0) {
        const from = await filters()
        const added = chains.filter(([finest = '']) => missing.has(finest))
        keep(await heavy(() => packedTallies(questdb, from, forecastResolutions, added)))
      }
      await readLevel(0, chains)
      const sparse = chains.filter(([finest = '']) => (tallies.get(finest)?.samples ?? 0) < votesThatStandAlone)
      await Promise.all(forecastResolutions.map((_, level) => level > 0 && readLevel(level, sparse)))
      return tallies
    },

    async voters({ questdb, heavy }, { key, filters }, chains, tallies) {
      const sources = new Map(
        chains.flatMap((cells) => sourceCell(cells, tallies) ?? []).map((cell) => [cell.h3, cell]),
      )
      const voters = new Map<string, number>()
      for (const h3 of sources.keys()) {
        const count = knownVoters.get(`${key} ${h3}`)
        if (count !== undefined) voters.set(h3, count)
      }
      const missing = [...sources.values()].filter(({ h3 }) => !voters.has(h3))
      if (missing.length === 0) return voters
      const from = await filters()
      for (const [h3, count] of await heavy(() => votersOfCells(questdb, from, missing))) {
        knownVoters.set(`${key} ${h3}`, count)
        voters.set(h3, count)
      }
      return voters
    },
  }
}

// A list, a part and their entries take about as much as this many numbers.
const numbersPerList = 6

/** Numbers in a tally, about. Its parts share their lists. */
function sizeOf({ rsrp, sinr, byRat, byPlmn }: SignalTally): number {
  let numbers = (1 + byRat.size + byPlmn.size) * numbersPerList
  for (const bins of [...rsrp, ...sinr]) numbers += numbersPerList + bins.length
  return numbers
}
