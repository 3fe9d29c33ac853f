import { createDayLevels, type DayLevels } from './day-levels.ts'
import { medianOfFirst } from './median.ts'
import { createNeighbours } from './neighbours.ts'
import type { Roster } from './roster.ts'

/** The time that is compared, in whole hours since 1970: from `fromHour` to before `toHour`. */
export type HourWindow = { fromHour: number; toHour: number }

/**
 * The medians of one shared cell: of the radio with this index, in this hour since 1970. Columns of equal length in any order,
 * which the reader may reuse. Values outside the window, or that no modem measures, do not count.
 */
export type CellColumns = {
  length: number
  radios: ArrayLike<number>
  hours: ArrayLike<number>
  rsrpDbm: ArrayLike<number>
}

/**
 * The level of each radio in each shared cell, cell after cell: the first `length` entries. A member is a rank, plus `lastOfCell` in
 * the last entry of a cell. A level is in hundredths of a dB above the lowest one. There are millions, of six bytes each.
 */
export type CellLevels = { length: number; members: Uint32Array; levels: Uint16Array }

const lastOfCell = 2 ** 31
export const rankAt = ({ members }: CellLevels, entry: number): number => (members[entry] ?? 0) & (lastOfCell - 1)
export const isLastAt = ({ members }: CellLevels, entry: number): boolean =>
  (members[entry] ?? lastOfCell) >= lastOfCell

export type SharedCells = {
  /** Adds a shared cell: an H3 cell of resolution 10, a RAT and a serving cell. Each is added once, with all its medians. */
  addCell(columns: CellColumns): void
  cells: CellLevels
  days: DayLevels
  /** The number of separate hours in which each radio was in shared cells, by rank. 3 stands for more. */
  hours: Uint8Array
}

/** The device that is compared, and two others. */
const minDevices = 3
export const hundredths = 100
export const lowestDbm = -200
const highestDbm = 0
const hoursPerDay = 24
/** A median is one number: rank, hour and level. Sorting numbers takes a tenth of the time of sorting rows. */
export const levelBits = 15
const hourBits = 14
const levelMask = 2 ** levelBits - 1
const rankFactor = 2 ** (levelBits + hourBits)
const maxHours = 2 ** hourBits

type Numbers = Uint16Array | Uint32Array | Float64Array

/** Returns an array of at least this length that begins as the given one does. A transfer extends the memory in place if it can. */
function grown<Type extends Numbers>(numbers: Type, length: number): Type {
  if (length <= numbers.length) return numbers
  const make = numbers.constructor as new (buffer: ArrayBufferLike) => Type
  const bytes = Math.ceil(1.2 * length) * numbers.BYTES_PER_ELEMENT
  return new make((numbers.buffer as ArrayBuffer).transfer(bytes))
}

/** One cell while it is added: its radios by position, and the hours of those in order. */
function createCellReader({ rankOf, deviceOf }: Roster, { fromHour, toHour }: HourWindow) {
  let keys = new Float64Array(256)
  let values = new Float64Array(256)
  const cell = {
    radios: 0,
    ranks: new Uint32Array(256),
    devices: new Uint32Array(256),
    levels: new Float64Array(256),
    hours: 0,
    positions: new Uint32Array(256),
    hourOf: new Uint32Array(256),
    hourLevels: new Float64Array(256),
  }

  function pack({ length, radios, hours, rsrpDbm }: CellColumns): number {
    keys = grown(keys, length)
    let [count, last, isInOrder] = [0, 0, true]
    for (let row = 0; row < length; row++) {
      const rank = rankOf[radios[row] ?? -1]
      const hour = (hours[row] ?? Number.NaN) - fromHour
      const dbm = rsrpDbm[row] ?? Number.NaN
      if (rank === undefined || !(hour >= 0 && hour < toHour - fromHour && dbm > lowestDbm && dbm < highestDbm))
        continue
      const moment = rank * rankFactor + Math.floor(hour) * 2 ** levelBits
      if (moment < last) isInOrder = false
      last = moment
      keys[count++] = moment + Math.round((dbm - lowestDbm) * hundredths)
    }
    // The median of an hour sorts its levels, which are few.
    if (!isInOrder) keys.subarray(0, count).sort()
    return count
  }

  /** Makes room for a cell of so many medians. */
  function reserve(count: number): void {
    values = grown(values, count)
    cell.ranks = grown(cell.ranks, count)
    cell.devices = grown(cell.devices, count)
    cell.levels = grown(cell.levels, count)
    cell.positions = grown(cell.positions, count)
    cell.hourOf = grown(cell.hourOf, count)
    cell.hourLevels = grown(cell.hourLevels, count)
  }

  /** Ends the radio whose hours begin at `firstHour`: its level is the median of its hours. */
  function endRadio(rank: number, firstHour: number): void {
    const count = cell.hours - firstHour
    for (let index = 0; index < count; index++) values[index] = cell.hourLevels[firstHour + index] ?? 0
    cell.ranks[cell.radios] = rank
    cell.devices[cell.radios] = deviceOf[rank] ?? 0
    cell.levels[cell.radios++] = medianOfFirst(values, count)
  }

  return (columns: CellColumns) => {
    const count = pack(columns)
    reserve(count)
    ;[cell.radios, cell.hours] = [0, 0]
    let firstHour = 0
    for (let from = 0, to = 0; from < count; from = to) {
      const rank = Math.floor((keys[from] ?? 0) / rankFactor)
      const hour = ((keys[from] ?? 0) - rank * rankFactor) >>> levelBits
      const end = rank * rankFactor + (hour + 1) * 2 ** levelBits
      for (; to < count && (keys[to] ?? 0) < end; to++)
        values[to - from] = ((keys[to] ?? 0) - rank * rankFactor) & levelMask
      cell.positions[cell.hours] = cell.radios
      cell.hourOf[cell.hours] = hour
      cell.hourLevels[cell.hours++] = medianOfFirst(values, to - from)
      if (to < count && (keys[to] ?? 0) < (rank + 1) * rankFactor) continue
      endRadio(rank, firstHour)
      firstHour = cell.hours
    }
    return cell
  }
}

type ReadCell = ReturnType<ReturnType<typeof createCellReader>>

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
function addDays(cell: ReadCell, references: Float64Array, firstHour: number, days: DayLevels, values: Float64Array) {
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

/**
 * Collects the shared cells of the radios of one organization. Cells with fewer than three devices say nothing. Throws a
 * `RangeError` if the window is empty or longer than 16,384 hours.
 */
export function createSharedCells(roster: Roster, window: HourWindow): SharedCells {
  const hourCount = window.toHour - window.fromHour
  if (!(hourCount > 0 && hourCount <= maxHours))
    throw new RangeError(`The window must have between 1 and ${maxHours} hours, got ${hourCount}.`)
  const firstHour = window.fromHour % hoursPerDay
  const dayCount = Math.ceil((firstHour + hourCount) / hoursPerDay)
  const radioCount = roster.radios.length
  const days = createDayLevels(radioCount, dayCount)
  const hourCounts = createHourCounts(radioCount)
  const readCell = createCellReader(roster, window)
  const neighbours = createNeighbours()
  const dayValues = new Float64Array(hoursPerDay)
  let references = new Float64Array(256)
  const cells: CellLevels = { length: 0, members: new Uint32Array(0), levels: new Uint16Array(0) }

  const devicesIn = ({ radios, devices }: ReadCell): number => {
    let count = 0
    for (let index = 0; index < radios; index++) if (index === 0 || devices[index] !== devices[index - 1]) count++
    return count
  }

  function keep({ radios, ranks, levels }: ReadCell): void {
    const end = cells.length + radios
    cells.members = grown(cells.members, end)
    cells.levels = grown(cells.levels, end)
    for (let index = 0; index < radios; index++) {
      cells.members[cells.length + index] = ranks[index] ?? 0
      cells.levels[cells.length + index] = Math.floor((levels[index] ?? 0) + 0.5)
    }
    cells.members[end - 1] = (ranks[radios - 1] ?? 0) + lastOfCell
    cells.length = end
  }

  return {
    addCell(columns) {
      const cell = readCell(columns)
      if (devicesIn(cell) < minDevices) return
      references = grown(references, cell.radios)
      neighbours.referencesOf(cell.levels, cell.devices, cell.radios, references)
      for (let index = 0; index < cell.hours; index++)
        hourCounts.add(cell.ranks[cell.positions[index] ?? 0] ?? 0, cell.hourOf[index] ?? 0)
      addDays(cell, references, firstHour, days, dayValues)
      keep(cell)
    },
    cells,
    days,
    hours: hourCounts.counts,
  }
}
