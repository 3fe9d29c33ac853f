import { type CellLevels, createCellLevels } from './cell-levels.ts'
import { createCellReader, type ReadCell } from './cell-reader.ts'
import { createDayLevels, type DayLevels } from './day-levels.ts'
import { grown } from './grown.ts'
import { medianOfFirst } from './median.ts'
import { createNeighbours } from './neighbours.ts'
import { hundredths, isMeasurable, lowestDbm, maxHours, packedLevel } from './packed-level.ts'
import type { Roster } from './roster.ts'

/** The time that is compared, in whole hours since 1970: from `fromHour` to before `toHour`. */
export type HourWindow = { fromHour: number; toHour: number }

/**
 * The medians of one shared cell: of the radio with this index, in this hour since 1970. Columns of equal length in any order,
 * which the reader may reuse. Values outside the window, or that no modem measures, do not count.
 */
type CellColumns = {
  length: number
  radios: ArrayLike<number>
  hours: ArrayLike<number>
  rsrpDbm: ArrayLike<number>
}

export type SharedCells = {
  /** Adds a shared cell: an H3 cell of resolution 10, a RAT and a serving cell. Each is added once, with all its medians. */
  addCell(columns: CellColumns): void
  /**
   * The same for the first `count` packed levels of a cell, which are in order and in the window. A radio is its rank. The caller may
   * reuse the array afterwards.
   */
  addSorted(packed: Float64Array, count: number): void
  cells: CellLevels
  days: DayLevels
  /** The number of separate hours in which each radio was in shared cells, by rank. 3 stands for more. */
  hours: Uint8Array
}

/** The device that is compared, and two others. */
const minDevices = 3
const hoursPerDay = 24

/** Counts separate hours by radio up to three, in any order of the cells. */
function createHourCounts(radios: number) {
  const counts = new Uint8Array(radios)
  const seen = new Uint32Array(2 * radios)
  return {
    counts,
    add(rank: number, hour: number) {
      const count = counts[rank] ?? 0
      if (count > 2 || (count > 0 && seen[2 * rank] === hour) || (count > 1 && seen[2 * rank + 1] === hour)) return
      if (count < 2) seen[2 * rank + count] = hour
      counts[rank] = count + 1
    },
  }
}

/** Adds the days of a cell's radios: on each, the median of its hours in the cell beside the radio's neighbours. */
function addDays(
  cell: ReadCell,
  references: Float64Array,
  { firstHour, days, values }: { firstHour: number; days: DayLevels; values: Float64Array },
): void {
  const dayAt = (index: number) => Math.floor(((cell.hourOf[index] ?? 0) + firstHour) / hoursPerDay)
  for (let from = 0, to = 0; from < cell.hours; from = to) {
    const position = cell.positions[from] ?? 0
    const day = dayAt(from)
    for (; to < cell.hours && cell.positions[to] === position && dayAt(to) === day; to++)
      values[to - from] = cell.hourLevels[to] ?? 0
    const difference = medianOfFirst(values, to - from) - (references[position] ?? 0)
    days.add(cell.ranks[position] ?? 0, day, difference / hundredths)
  }
}

function devicesIn({ radios, devices }: ReadCell): number {
  let count = 0
  for (let index = 0; index < radios; index++) if (index === 0 || devices[index] !== devices[index - 1]) count++
  return count
}

/**
 * Collects the shared cells of the radios of one organization. Cells with fewer than three devices say nothing. Throws a
 * `RangeError` if the window is empty or longer than 16,384 hours.
 */
export function createSharedCells(roster: Roster, { fromHour, toHour }: HourWindow): SharedCells {
  const hourCount = toHour - fromHour
  if (!(hourCount > 0 && hourCount <= maxHours))
    throw new RangeError(`The window must have between 1 and ${maxHours} hours, got ${hourCount}.`)
  const firstHour = fromHour % hoursPerDay
  const radioCount = roster.radios.length
  const days = createDayLevels(radioCount, Math.ceil((firstHour + hourCount) / hoursPerDay))
  const dayWork = { firstHour, days, values: new Float64Array(hoursPerDay) }
  const hours = createHourCounts(radioCount)
  const readCell = createCellReader(roster.deviceOf)
  const neighbours = createNeighbours()
  const cells = createCellLevels(radioCount)
  let references = new Float64Array(256)
  let packed = new Float64Array(256)

  /** Packs the medians that count, in order, and returns their number. */
  function pack(columns: CellColumns): number {
    packed = grown(packed, columns.length)
    let [count, last, isInOrder] = [0, 0, true]
    for (let row = 0; row < columns.length; row++) {
      const rank = roster.rankOf[columns.radios[row] ?? -1]
      const hour = Math.floor((columns.hours[row] ?? Number.NaN) - fromHour)
      const level = Math.round(((columns.rsrpDbm[row] ?? Number.NaN) - lowestDbm) * hundredths)
      if (rank === undefined || !(hour >= 0 && hour < hourCount && isMeasurable(level))) continue
      const next = packedLevel(rank, hour, level)
      if (next < last) isInOrder = false
      last = next
      packed[count++] = next
    }
    if (!isInOrder) packed.subarray(0, count).sort()
    return count
  }

  function addSorted(sorted: Float64Array, count: number): void {
    const cell = readCell(sorted, count)
    if (devicesIn(cell) < minDevices) return
    references = grown(references, cell.radios)
    neighbours.referencesOf(cell.levels, cell.devices, cell.radios, references)
    for (let index = 0; index < cell.hours; index++)
      hours.add(cell.ranks[cell.positions[index] ?? 0] ?? 0, cell.hourOf[index] ?? 0)
    addDays(cell, references, dayWork)
    cells.add(cell)
  }

  return {
    addCell(columns) {
      // First the count: packing may replace the array with a longer one.
      const count = pack(columns)
      addSorted(packed, count)
    },
    addSorted,
    cells,
    days,
    hours: hours.counts,
  }
}
