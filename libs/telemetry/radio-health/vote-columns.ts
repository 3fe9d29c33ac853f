import { groupInPlace } from './group-in-place.ts'
import { grown } from './grown.ts'
import { sortFirst } from './median.ts'

/** Votes in columns: the number of a cell, and a packed level. A vote takes 12 bytes. */
export type VoteColumns = {
  length: number
  append(cell: number, packed: number): void
  /** Writes over the vote at an index. */
  put(index: number, cell: number, packed: number): void
  /** Makes room for so many votes. */
  reserve(count: number): void
  /** Passes on each cell that has votes. `put` may write over votes of this cell, and of those before. */
  eachCell(use: UseSortedCell): void
  /** Frees the memory. */
  free(): void
}

/** Takes the first `count` packed levels of a cell, in order. They are valid until it returns. */
type UseSortedCell = (sorted: Float64Array, count: number, cell: number) => void

/** Cells are grouped twice, because the caches of a processor hold only some thousands of places to write to. */
const cellGroups = 512

type Stored = { cells: Uint32Array<ArrayBuffer>; packed: Float64Array<ArrayBuffer> }

function swapVotes({ cells, packed }: Stored, a: number, b: number): void {
  const cell = cells[a] ?? 0
  const level = packed[a] ?? 0
  cells[a] = cells[b] ?? 0
  packed[a] = packed[b] ?? 0
  cells[b] = cell
  packed[b] = level
}

/** `capacity`: votes for which there is memory at first. */
export function createVoteColumns(capacity: number): VoteColumns {
  const votes: Stored = { cells: new Uint32Array(capacity), packed: new Float64Array(capacity) }
  let sorted = new Float64Array(256)
  let cellCount = 0
  const swap = (a: number, b: number) => swapVotes(votes, a, b)

  /** Passes on the votes of a cell, which are from `from` to before `to`. */
  function takeCell(cell: number, { from, to }: { from: number; to: number }, use: UseSortedCell): void {
    const count = to - from
    sorted = grown(sorted, count)
    for (let index = 0; index < count; index++) sorted[index] = votes.packed[from + index] ?? 0
    sortFirst(sorted, count)
    use(sorted, count, cell)
  }

  /** Passes on the cells from `first` on, whose votes are from `from` to before `to`. */
  function eachOfGroup(
    { from, to, first, count }: { from: number; to: number; first: number; count: number },
    use: UseSortedCell,
  ): void {
    const groupOf = (index: number) => (votes.cells[index] ?? 0) - first
    const ends = groupInPlace({ from, to, groups: count, groupOf, swap })
    for (let cell = 0, start = from; cell < count; cell++) {
      const end = ends[cell] ?? start
      if (end > start) takeCell(first + cell, { from: start, to: end }, use)
      start = end
    }
  }

  const columns: VoteColumns = {
    length: 0,
    append(cell, level) {
      if (columns.length === votes.cells.length) columns.reserve(columns.length + 1)
      votes.cells[columns.length] = cell
      votes.packed[columns.length++] = level
      if (cell >= cellCount) cellCount = cell + 1
    },
    put(index, cell, level) {
      votes.cells[index] = cell
      votes.packed[index] = level
    },
    reserve(count) {
      votes.cells = grown(votes.cells, count)
      votes.packed = grown(votes.packed, count)
    },
    eachCell(use) {
      const count = Math.ceil(cellCount / cellGroups)
      const groupOf = (index: number) => Math.floor((votes.cells[index] ?? 0) / count)
      const ends = groupInPlace({ from: 0, to: columns.length, groups: cellGroups, groupOf, swap })
      for (let group = 0, from = 0; group < cellGroups; group++) {
        const to = ends[group] ?? from
        if (to > from) eachOfGroup({ from, to, first: group * count, count }, use)
        from = to
      }
    },
    free() {
      for (const { buffer } of [votes.cells, votes.packed, sorted]) buffer.transfer(0)
    },
  }
  return columns
}
