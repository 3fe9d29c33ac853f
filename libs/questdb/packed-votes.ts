import { forEachInSlices } from '#core/slices'
import { type CellSet, firstCellOf, type Source, type VoteFilter, voteParts } from '#questdb/coverage-source'
import { areasOf, longOfH3 } from '#questdb/h3-index'
import type { QuestdbSql } from '#questdb/sql'
import { type Chain, chainTallies } from '#telemetry/route-tallies'
import type { BinVotes } from '#telemetry/signal-mixture'
import {
  addOperatorVotes,
  addSinrVotes,
  emptySignalTally,
  type OperatorVotes,
  type SignalTally,
} from '#telemetry/signal-tally'

// More rows are counted faster by QuestDB. A row takes about 8 bytes of text.
const maxRows = 250_000
// Chains of one statement. Two statements at a time use both cores of a small machine.
const maxChains = 2_500
const chainsWorthTwoStatements = 500

const noService = 'none'
// Makes all levels positive. The accepted levels of RSRP and SINR are within -156 and 40 dB.
const levelOffset = 161
const levels = 256

/** The stored row of a vote as one number: votes · 2^16 + RSRP · 2^8 + SINR, where a level is 0 if it is missing. */
const packedRow = `(votes * ${levels ** 2} + coalesce(rsrp_bin + ${levelOffset}, 0) * ${levels}
                   + coalesce(sinr_bin + ${levelOffset}, 0))::long::varchar`

/**
 * Reads the votes around points, whose cells have the resolutions of `resolutions`, in a single scan of each view. Returns
 * the tally of every finest cell, and of the coarser ones where the finest has too few votes. Omits the cells of points that
 * have so many votes around them that counting in QuestDB is faster.
 */
export async function packedTallies(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolutions: readonly number[],
  chains: readonly Chain[],
): Promise<Map<string, SignalTally>> {
  const perPart = await Promise.all(partsOf(chains).map((part) => talliesOfPart(questdb, filters, resolutions, part)))
  return new Map(perPart.flatMap((tallies) => [...tallies]))
}

function partsOf(chains: readonly Chain[]): Chain[][] {
  const atOnce = chains.length < chainsWorthTwoStatements ? chains.length : Math.ceil(chains.length / 2)
  const size = Math.min(maxChains, atOnce)
  const parts: Chain[][] = []
  for (let start = 0; start < chains.length; start += size) parts.push(chains.slice(start, start + size))
  return parts
}

type Unpacked = OperatorVotes & { sinr: BinVotes; rows: number }

function addUnpacked(tally: SignalTally, unpacked: Unpacked): void {
  addOperatorVotes(tally, unpacked)
  if (unpacked.rat !== noService) addSinrVotes(tally, unpacked.sinr)
}

type PackedColumns = [cell: string, rat: string | null, plmn: string | null, packed: string]

async function talliesOfPart(
  questdb: QuestdbSql,
  filters: readonly VoteFilter[],
  resolutions: readonly number[],
  chains: readonly Chain[],
): Promise<Map<string, SignalTally>> {
  const sets = resolutions.map((resolution, level) => ({
    resolution,
    h3: [...new Set(chains.map((cells) => cells[level] ?? ''))],
  }))
  const byLong = new Map(
    sets.flatMap(({ h3 }) => h3.map((cell) => [longOfH3(cell), { h3: cell, tally: emptySignalTally() }] as const)),
  )
  const within = { areas: areasOf(sets[0]?.h3 ?? []), cells: sets.at(-1) }
  const unpack = createUnpacker()
  const addVotes = async (filter: VoteFilter): Promise<boolean> => {
    const read = voteParts({ ...filter, ...within }).map((source) => packedGroups(questdb, source, sets))
    let rows = 0
    for (const groups of await Promise.all(read)) {
      if (!groups) return false
      await forEachInSlices(groups, ([cell, rat, plmn, packed]) => {
        const unpacked = unpack(rat, plmn, packed)
        rows += unpacked.rows
        const tally = byLong.get(cell)?.tally
        if (tally) addUnpacked(tally, unpacked)
      })
    }
    return rows <= maxRows
  }
  const counted = await Promise.all(filters.map(addVotes))
  if (counted.includes(false)) return new Map()
  return chainTallies(chains, new Map([...byLong.values()].map(({ h3, tally }) => [h3, tally])))
}

// QuestDB limits the text of a group and the bytes of a result row, to 1 MiB each by default.
const tooLongValue = /string_agg\(\) result exceeds max size|not enough space in send buffer/

/** Returns undefined if the rows of a group take more text than QuestDB accepts. */
async function packedGroups(
  questdb: QuestdbSql,
  { text, values }: Source,
  sets: readonly CellSet[],
): Promise<PackedColumns[] | undefined> {
  try {
    return await questdb.queryArrays<PackedColumns>(
      `SELECT cell, rat, plmn, string_agg(packed, ' ')
       FROM (SELECT ${firstCellOf(sets)} cell, rat, plmn, ${packedRow} packed FROM ${text} LIMIT ${maxRows + 1})
       GROUP BY cell, rat, plmn`,
      values,
    )
  } catch (error) {
    if (error instanceof Error && tooLongValue.test(error.message)) return undefined
    throw error
  }
}

/** Counts the rows that QuestDB packed into one text, by level. */
function createUnpacker(): (rat: string | null, plmn: string | null, packed: string) => Unpacked {
  const [rsrpVotes, sinrVotes] = [createLevelVotes(), createLevelVotes()]
  return (rat, plmn, packed) => {
    let [rows, votes, number] = [0, 0, 0]
    for (let at = 0; at <= packed.length; at++) {
      const digit = packed.charCodeAt(at) - zero
      // False for a space, and for the end of the text.
      if (digit >= 0) {
        number = number * 10 + digit
        continue
      }
      const rowVotes = Math.floor(number / levels ** 2)
      rsrpVotes.add(Math.floor(number / levels) % levels, rowVotes)
      sinrVotes.add(number % levels, rowVotes)
      rows++
      votes += rowVotes
      number = 0
    }
    return { rat, plmn, votes, rows, rsrp: rsrpVotes.take(), sinr: sinrVotes.take() }
  }
}

const zero = '0'.charCodeAt(0)

/** Sums of votes by packed level. Level 0, which means missing, is not counted. */
function createLevelVotes() {
  const votesOf = new Float64Array(levels)
  let used: number[] = []
  return {
    add(level: number, votes: number): void {
      if (level === 0) return
      if (votesOf[level] === 0) used.push(level)
      votesOf[level] = (votesOf[level] ?? 0) + votes
    },
    /** Returns the sums by whole dB and starts again from zero. */
    take(): BinVotes {
      const bins: number[] = []
      for (const level of used) {
        bins.push(level - levelOffset, votesOf[level] ?? 0)
        votesOf[level] = 0
      }
      used = []
      return bins
    },
  }
}
