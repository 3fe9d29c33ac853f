import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import { forEachInSlices } from '#core/slices'
import type { VoteFilter } from '#questdb/coverage-source'
import { readPackedVotes } from '#questdb/packed-votes'
import type { Reader } from '#questdb/readers'
import { type CellVoters, votersOfCells } from '#questdb/route-voters'
import { signalTallies } from '#questdb/signal-tallies'
import type { QuestdbSql } from '#questdb/sql'
import { enoughVotes } from '#telemetry/dead-zones'
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
  }
  const [voters] = await Promise.all([countVoters(questdb, filters, chains), forecastAll()])
  // Voters are counted by whole hours and may be newer than the votes, so that a few cells can be missing.
  const missing = [...forecasts.values()].filter(({ h3, samples }) => samples > 0 && !voters.has(h3))
  for (const [h3, counted] of await votersOfCells(questdb, filters, missing)) voters.set(h3, counted)
  const counted = new Map<string, CountedForecast>()
  for (const [h3, told] of forecasts) counted.set(h3, { ...told, devices: voters.get(told.h3)?.devices ?? 0 })
  return counted
}

/**
 * Counts the devices of every finest cell, and those of the coarser cells where the finest has too few votes to be told.
 * QuestDB does this while the votes are added up here.
 */
async function countVoters(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  chains: readonly Chain[],
): Promise<Map<string, CellVoters>> {
  const cellsOf = (level: number, among: readonly Chain[]) =>
    [...new Set(among.map((chain) => chain[level] ?? ''))].map(
      (h3): ToldCell => ({ h3, h3Resolution: forecastResolutions[level] ?? finestResolution }),
    )
  const voters = await votersOfCells(questdb, filters, cellsOf(0, chains))
  const sparse = chains.filter(([finest = '']) => (voters.get(finest)?.votes ?? 0) < enoughVotes)
  const coarser = forecastResolutions.flatMap((_, level) => (level > 0 ? cellsOf(level, sparse) : []))
  for (const [h3, counted] of await votersOfCells(questdb, filters, coarser)) voters.set(h3, counted)
  return voters
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
