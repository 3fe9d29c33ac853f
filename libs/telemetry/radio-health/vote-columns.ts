import type { Steps } from '#core/slices'
import { groupInPlace } from './group-in-place.ts'
import { grown } from './grown.ts'
import { sortFirst } from './median.ts'
import { radioOf } from './packed-level.ts'

/** Votes in columns: the number of a cell, and a packed level. A vote takes 12 bytes. */
export type VoteColumns = {
  length: number
  append(cell: number, packed: number): void
  /** Writes over the vote at an index. */
  put(index: number, cell: number, packed: number): void
  /** Makes room for so many votes. */
  reserve(count: number): void
  /** Passes on each cell that has votes. `put` may write over votes of this cell, and of those before. */
  eachCell(use: UseSortedCell): Steps<void>
  /** Frees the memory. */
  free(): void
}

/** Takes the first `count` packed levels of a cell, in order. They are valid until its steps are done. */
type UseSortedCell = (sorted: Float64Array, count: number, cell: number) => Steps<void>

/** Votes that are sorted in one step: a cell with more is grouped by radio first. */
const votesPerStep = 10_000
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

/** Copies the votes of one cell to `sorted`, in order. */
function* sortCell(
  votes: Stored,
  { from, to, radios }: { from: number; to: number; radios: number },
  sorted: Float64Array,
): Steps<void> {
  const { packed } = votes
  const sortVotes = (start: number, end: number, part: Float64Array) => {
    for (let index = start; index < end; index++) part[index - start] = packed[index] ?? 0
    sortFirst(part, end - start)
  }
  if (to - from <= votesPerStep) {
    sortVotes(from, to, sorted)
    return
  }
  const groupOf = (index: number) => radioOf(packed[index] ?? 0)
  const swap = (a: number, b: number) => swapVotes(votes, a, b)
  const ends = yield* groupInPlace({ from, to, groups: radios, groupOf, swap })
  for (let radio = 0, start = from, pauseAt = from; radio < radios; radio++) {
    const end = ends[radio] ?? start
    if (end > start) sortVotes(start, end, sorted.subarray(start - from))
    start = end
    if (end < pauseAt) continue
    yield
    pauseAt = end + votesPerStep
  }
}

/** `radios`: their number. `capacity`: votes for which there is memory at first. */
export function createVoteColumns({ radios, capacity }: { radios: number; capacity: number }): VoteColumns {
  const votes: Stored = { cells: new Uint32Array(capacity), packed: new Float64Array(capacity) }
  let sorted = new Float64Array(256)
  let cellCount = 0
  const swap = (a: number, b: number) => swapVotes(votes, a, b)

  /** Passes on the cells from `first` on, whose votes are from `from` to before `to`. */
  function* eachOfGroup(
    { from, to, first, count }: { from: number; to: number; first: number; count: number },
    use: UseSortedCell,
  ): Steps<void> {
    const groupOf = (index: number) => (votes.cells[index] ?? 0) - first
    const ends = yield* groupInPlace({ from, to, groups: count, groupOf, swap })
    for (let cell = 0, start = from, pauseAt = from; cell < count; cell++) {
      const end = ends[cell] ?? start
      if (end > start) {
        sorted = grown(sorted, end - start)
        yield* sortCell(votes, { from: start, to: end, radios }, sorted)
        yield* use(sorted, end - start, first + cell)
      }
      start = end
      if (end < pauseAt) continue
      yield
      pauseAt = end + votesPerStep
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
    *eachCell(use) {
      const count = Math.ceil(cellCount / cellGroups)
      const groupOf = (index: number) => Math.floor((votes.cells[index] ?? 0) / count)
      const ends = yield* groupInPlace({ from: 0, to: columns.length, groups: cellGroups, groupOf, swap })
      for (let group = 0, from = 0; group < cellGroups; group++) {
        const to = ends[group] ?? from
        if (to > from) yield* eachOfGroup({ from, to, first: group * count, count }, use)
        from = to
      }
    },
    free() {
      for (const { buffer } of [votes.cells, votes.packed, sorted]) buffer.transfer(0)
    },
  }
  return columns
}
