import type { Steps } from '#core/slices'
import { type CellColumns, hundredths, lowestDbm } from './shared-cells.ts'
import { createVoteColumns, hourOf, levelFactor, levelOf, orderBy, withHourMedians } from './vote-columns.ts'

/** Takes millions of minute votes in order of time, and gives them out cell by cell. A vote takes 20 bytes. */
export type VoteBatch = {
  /**
   * Adds a vote. Cells and radios are numbered from 0. `hour`: since the start of the window. `level`: hundredths of a dB above
   * `lowestDbm`.
   */
  add(cell: number, radio: number, hour: number, level: number): void
  /** Calls `use` with each cell, whose columns are valid during the call and in order of radio and hour. Empties the batch. */
  takeCells(use: (cell: CellColumns) => void): Steps<void>
}

const createCellColumns = (length: number) => ({
  radios: new Uint32Array(length),
  hours: new Uint32Array(length),
  rsrpDbm: new Float64Array(length),
})

/** A full batch whose votes take more than this share after their hours were reduced gets more memory. */
const wellReduced = 0.75
const growth = 1.5
/** Votes that are given out in one step. */
const votesPerStep = 20_000

/**
 * `radios`: their number. `fromHour`: the start of the window in hours since 1970. `capacity`: votes for which there is memory at first.
 * A full batch replaces the votes of a radio in a cell and an hour that is over by their median, which a comparison does anyway, so
 * that a depot with thousands of parked routers needs little memory.
 */
export function createVoteBatch(options: { radios: number; fromHour: number; capacity: number }): VoteBatch {
  const { fromHour } = options
  let columns = createVoteColumns(options.capacity)
  let orders = [new Uint32Array(options.capacity), new Uint32Array(options.capacity)] as const
  let length = 0
  let cellCount = 0

  /** Returns the indexes in order of cell, radio and time. */
  function* ordered(): Steps<Uint32Array> {
    const [byRadio, byCell] = [orders[0].subarray(0, length), orders[1].subarray(0, length)]
    yield* orderBy(columns.radios, options.radios, undefined, byRadio)
    yield* orderBy(columns.cells, cellCount, byRadio, byCell)
    return byCell
  }

  /** Makes room. The last vote is in the newest hour. */
  function reduce(): void {
    const steps = ordered()
    let step = steps.next()
    while (!step.done) step = steps.next()
    const reduced = withHourMedians(columns, step.value, hourOf(columns.moments[length - 1] ?? 0))
    if (reduced.length > wellReduced * length) {
      const size = Math.ceil(growth * length)
      columns = createVoteColumns(size)
      orders = [new Uint32Array(size), new Uint32Array(size)]
    }
    for (const name of ['cells', 'radios', 'moments'] as const)
      columns[name].set(reduced[name].subarray(0, reduced.length))
    length = reduced.length
  }

  return {
    add(cell, radio, hour, level) {
      if (length === columns.cells.length) reduce()
      columns.cells[length] = cell
      columns.radios[length] = radio
      columns.moments[length++] = hour * levelFactor + level
      if (cell >= cellCount) cellCount = cell + 1
    },
    *takeCells(use) {
      const order = yield* ordered()
      const { cells, radios, moments } = columns
      let cell = createCellColumns(256)
      for (let from = 0, to = 0, pauseAt = votesPerStep; from < length; from = to) {
        const number = cells[order[from] ?? 0]
        while (to < length && cells[order[to] ?? 0] === number) to++
        if (cell.radios.length < to - from) cell = createCellColumns(2 * (to - from))
        for (let at = from; at < to; at++) {
          const index = order[at] ?? 0
          const moment = moments[index] ?? 0
          cell.radios[at - from] = radios[index] ?? 0
          cell.hours[at - from] = fromHour + hourOf(moment)
          cell.rsrpDbm[at - from] = lowestDbm + levelOf(moment) / hundredths
        }
        use({ length: to - from, ...cell })
        if (to < pauseAt) continue
        yield
        pauseAt = to + votesPerStep
      }
      ;[length, cellCount] = [0, 0]
    },
  }
}
