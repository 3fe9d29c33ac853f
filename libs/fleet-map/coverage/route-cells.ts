import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import { forEachInSlices } from '#core/slices'
import type { Reader } from '#questdb/copies/readers'
import type { QuestdbSql } from '#questdb/server/sql'
import type { VoteFilter } from '#questdb/votes/coverage-source'
import { momentsAround } from '#questdb/votes/moments'
import { type PackedArea, readPackedVotes } from '#questdb/votes/packed-votes'
import { votersOfCells } from '#questdb/votes/route-voters'
import { signalTallies } from '#questdb/votes/signal-tallies'
import { finestResolution } from '#telemetry/coverage/ancestor-cell'
import { enoughVotes } from '#telemetry/coverage/dead-zones'
import {
  type CellForecast,
  type CellTallies,
  type CountedForecast,
  forecastCell,
  forecastResolutions,
  type SourceCell,
} from '#telemetry/coverage/forecast'
import type { Chain } from '#telemetry/coverage/route-tallies'
import { votesThatStandAlone } from '#telemetry/coverage/signal-blend'
import type { SignalTally } from '#telemetry/coverage/signal-tally'

/** Which votes a forecast uses. `key` identifies the filters: forecasts of the same key are cached for a minute. */
type RouteVotes = { key: string; filters: () => Promise<readonly VoteFilter[]> }

export type RouteCells = {
  /**
   * Returns the forecast of each point, by its finest cell. The cells of a point are a list from the finest to the coarsest
   * resolution.
   */
  forecasts(reader: Reader, votes: RouteVotes, chains: readonly Chain[]): Promise<ReadonlyMap<string, CountedForecast>>
}

/** Forecasts of points in one coarsest cell, by finest cell. */
type KnownArea = Map<string, CountedForecast>

// The views lag by a minute and a half. Routes change point by point while they are drawn.
const lifeMs = 60_000
// Points, of about 1 KB each, and areas.
const maxKnown = 50_000

/** Forecasts of points, shared by all routes with the same filters. */
export function createRouteCells({ clock }: { clock: Clock }): RouteCells {
  // By area, because looking up thousands of points one by one takes several times as long. The first forecast of an area
  // determines when all of them are read again.
  const known = new LRUCache<string, KnownArea>({
    ttl: lifeMs,
    perf: { now: clock },
    noUpdateTTL: true,
    maxSize: maxKnown,
    sizeCalculation: (area) => 1 + area.size,
  })
  const keep = (key: string, chains: readonly Chain[], found: ReadonlyMap<string, CountedForecast>): void => {
    for (const [coarsest, within] of byArea(chains)) {
      const area = new Map(known.get(`${key} ${coarsest}`))
      for (const [finest = ''] of within) {
        const forecast = found.get(finest)
        if (forecast) area.set(finest, forecast)
      }
      known.set(`${key} ${coarsest}`, area)
    }
  }
  return {
    async forecasts({ questdb, heavy }, { key, filters }, chains) {
      const forecasts = new Map<string, CountedForecast>()
      const missing: Chain[] = []
      for (const [coarsest, within] of byArea(chains)) {
        const area = known.get(`${key} ${coarsest}`)
        for (const chain of within) {
          const [finest = ''] = chain
          const forecast = area?.get(finest)
          if (forecast) forecasts.set(finest, forecast)
          else missing.push(chain)
        }
      }
      if (missing.length === 0) return forecasts
      const from = await filters()
      const found = await heavy(() => readForecasts(questdb, from, missing))
      keep(key, missing, found)
      for (const [finest, forecast] of found) forecasts.set(finest, forecast)
      return forecasts
    },
  }
}

const byArea = (chains: readonly Chain[]) => Map.groupBy(chains, (chain) => chain.at(-1) ?? '')

async function readForecasts(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  chains: readonly Chain[],
): Promise<Map<string, CountedForecast>> {
  const [voters, moments, packed] = await Promise.all([
    votersOfCells(questdb, filters, finestCells(chains)),
    momentsAround(questdb, filters, chains, forecastResolutions),
    readPackedVotes(questdb, filters, chains),
  ])
  const forecasts = new Map<string, CellForecast>()
  const forecast = (chain: Chain, tallies: CellTallies) => {
    forecasts.set(chain[0] ?? '', forecastCell(chain, tallies, moments))
  }
  const addUp = async (areas: readonly PackedArea[]) => {
    for (const area of areas) await area.addUp(forecast)
  }
  const countMissing = async () => {
    const missing = [...forecasts.values()].filter(({ h3, samples }) => samples > 0 && !voters.has(h3))
    for (const [h3, counted] of await votersOfCells(questdb, filters, missing)) voters.set(h3, counted)
  }
  // A finest cell with few votes may be described by a coarser one. QuestDB counts the devices of those while the votes of
  // the other areas are added up.
  const isSparse = ([finest = '']: Chain) => (voters.get(finest)?.votes ?? 0) < enoughVotes
  const hasSparse = ({ chains }: PackedArea) => chains.some(isSparse)
  await addUp(packed.areas.filter(hasSparse))
  await Promise.all([countMissing(), addUp(packed.areas.filter((area) => !hasSparse(area)))])
  const tallies = await countTallies(questdb, filters, packed.omitted)
  await forEachInSlices(packed.omitted, (chain) => forecast(chain, tallies))
  // Voters are counted by whole hours and may be newer than the votes, so that a few cells can still be missing.
  await countMissing()
  const counted = new Map<string, CountedForecast>()
  for (const [h3, forecast] of forecasts)
    counted.set(h3, { ...forecast, devices: voters.get(forecast.h3)?.devices ?? 0 })
  return counted
}

const finestCells = (chains: readonly Chain[]): SourceCell[] =>
  [...new Set(chains.map(([finest = '']) => finest))].map((h3) => ({ h3, h3Resolution: finestResolution }))

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
