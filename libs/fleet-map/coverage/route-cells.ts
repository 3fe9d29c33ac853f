import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import { forEachInSlices } from '#core/slices'
import type { VoteFilter } from '#questdb/coverage-source'
import { readPackedVotes } from '#questdb/packed-votes'
import type { Reader } from '#questdb/readers'
import { votersOfCells } from '#questdb/route-voters'
import { signalTallies } from '#questdb/signal-tallies'
import type { QuestdbSql } from '#questdb/sql'
import {
  type CellForecast,
  type CellTallies,
  type CountedForecast,
  forecastCell,
  forecastResolutions,
  type ToldCell,
} from '#telemetry/forecast'
import type { Chain } from '#telemetry/route-tallies'
import { votesThatStandAlone } from '#telemetry/signal-blend'
import type { SignalTally } from '#telemetry/signal-tally'

/** Which votes a forecast uses. `key` identifies the filters: forecasts of the same key are cached for a minute. */
type RouteVotes = { key: string; filters: () => Promise<readonly VoteFilter[]> }

export type RouteCells = {
  /**
   * Returns the forecast of each point, by its finest cell. The cells of a point are a list from the finest to the coarsest
   * resolution.
   */
  forecasts(reader: Reader, votes: RouteVotes, chains: readonly Chain[]): Promise<ReadonlyMap<string, CountedForecast>>
}

// The views lag by a minute and a half. Routes change point by point while they are drawn.
const lifeMs = 60_000
// About 1 KB each.
const maxKnown = 50_000

/** Forecasts of points, shared by all routes with the same filters. */
export function createRouteCells({ clock }: { clock: Clock }): RouteCells {
  const known = new LRUCache<string, CountedForecast>({ ttl: lifeMs, perf: { now: clock }, max: maxKnown })
  return {
    async forecasts({ questdb, heavy }, { key, filters }, chains) {
      const forecasts = new Map<string, CountedForecast>()
      const missing: Chain[] = []
      for (const chain of chains) {
        const finest = chain[0] ?? ''
        const forecast = known.get(`${key} ${finest}`)
        if (forecast) forecasts.set(finest, forecast)
        else missing.push(chain)
      }
      if (missing.length === 0) return forecasts
      const from = await filters()
      for (const [finest, forecast] of await heavy(() => readForecasts(questdb, from, missing))) {
        known.set(`${key} ${finest}`, forecast)
        forecasts.set(finest, forecast)
      }
      return forecasts
    },
  }
}

async function readForecasts(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  chains: readonly Chain[],
): Promise<Map<string, CountedForecast>> {
  const forecasts = new Map<string, CellForecast>()
  const forecast = (chain: Chain, tallies: CellTallies) => {
    forecasts.set(chain[0] ?? '', forecastCell(chain, tallies))
  }
  const forecastAll = async () => {
    const packed = await readPackedVotes(questdb, filters, chains)
    await packed.addUp(forecast)
    const tallies = await countTallies(questdb, filters, packed.omitted)
    await forEachInSlices(packed.omitted, (chain) => forecast(chain, tallies))
    const told = [...forecasts.values()].filter(({ samples }) => samples > 0)
    return votersOfCells(
      questdb,
      filters,
      told.filter(({ h3Resolution }) => h3Resolution < finestResolution),
    )
  }
  // Most points are described by their finest cell. QuestDB counts its devices while it reads the votes.
  const finest = chains.map(([h3 = '']): ToldCell => ({ h3, h3Resolution: finestResolution }))
  const [finestVoters, coarserVoters] = await Promise.all([votersOfCells(questdb, filters, finest), forecastAll()])
  const counted = new Map<string, CountedForecast>()
  for (const [h3, told] of forecasts) {
    counted.set(h3, { ...told, devices: coarserVoters.get(told.h3) ?? finestVoters.get(told.h3) ?? 0 })
  }
  return counted
}

const [finestResolution] = forecastResolutions

/** Counts votes in QuestDB: those of every finest cell, and of the coarser ones where the finest has too few votes. */
async function countTallies(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  chains: readonly Chain[],
): Promise<CellTallies> {
  const tallies = new Map<string, SignalTally>()
  const countLevel = async (level: number, among: readonly Chain[]) => {
    if (among.length === 0) return
    const cells = [...new Set(among.map(({ [level]: h3 = '' }) => h3))]
    const counted = await signalTallies(questdb, filters, forecastResolutions[level] ?? finestResolution, cells)
    for (const [h3, tally] of counted) tallies.set(h3, tally)
  }
  await countLevel(0, chains)
  const sparse = chains.filter(([finest = '']) => (tallies.get(finest)?.samples ?? 0) < votesThatStandAlone)
  await Promise.all(forecastResolutions.map((_, level) => level > 0 && countLevel(level, sparse)))
  return tallies
}
