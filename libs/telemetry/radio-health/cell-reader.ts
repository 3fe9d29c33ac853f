import { grown } from './grown.ts'
import { medianOfFirst } from './median.ts'
import { afterHour, afterRadio, hourOf, levelOf, radioOf } from './packed-level.ts'

/** A shared cell: the first `radios` radios by position, in order of rank, and the first `hours` hours of those, in order. */
export type ReadCell = {
  radios: number
  ranks: Uint32Array
  devices: Uint32Array
  /** Of each radio: the median of its hours. */
  levels: Float64Array
  hours: number
  /** Of each hour: the position of its radio, the hour since the start of the window, and the median of its levels. */
  positions: Uint32Array
  hourOf: Uint32Array
  hourLevels: Float64Array
}

/** Returns a function that reads the packed levels of a cell, in order. Its memory is used again for the next cell. */
export function createCellReader(deviceOf: Uint32Array): (packed: Float64Array, count: number) => ReadCell {
  let values = new Float64Array(256)
  const cell: ReadCell = {
    radios: 0,
    ranks: new Uint32Array(256),
    devices: new Uint32Array(256),
    levels: new Float64Array(256),
    hours: 0,
    positions: new Uint32Array(256),
    hourOf: new Uint32Array(256),
    hourLevels: new Float64Array(256),
  }

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

  return (packed, count) => {
    reserve(count)
    ;[cell.radios, cell.hours] = [0, 0]
    for (let from = 0, to = 0; from < count; ) {
      const rank = radioOf(packed[from] ?? 0)
      const [end, firstHour] = [afterRadio(rank), cell.hours]
      for (; from < count && (packed[from] ?? 0) < end; from = to) {
        const hour = hourOf(packed[from] ?? 0, rank)
        const endOfHour = afterHour(rank, hour)
        for (to = from; to < count && (packed[to] ?? 0) < endOfHour; to++)
          values[to - from] = levelOf(packed[to] ?? 0, rank)
        cell.positions[cell.hours] = cell.radios
        cell.hourOf[cell.hours] = hour
        cell.hourLevels[cell.hours++] = medianOfFirst(values, to - from)
      }
      endRadio(rank, firstHour)
    }
    return cell
  }
}
