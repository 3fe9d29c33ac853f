import { type CellLevels, type CellPart, entryOf, isLastAt, partOf, placeOf, rankAt } from './cell-levels.ts'
import { startsByRank } from './offsets.ts'
import type { Roster } from './roster.ts'

/**
 * Writes to `firsts` where each cell of each radio begins, in order of the radios, whose cells begin at `starts`.
 */
function listCells(cells: CellLevels, starts: Uint32Array, firsts: Uint32Array): void {
  const next = starts.slice()
  for (const [number, part] of cells.parts.entries())
    for (let entry = 0, first = 0; entry < part.length; entry++) {
      const rank = rankAt(part, entry)
      const at = next[rank] ?? 0
      firsts[at] = placeOf(number, first)
      next[rank] = at + 1
      if (isLastAt(part, entry)) first = entry + 1
    }
}

/**
 * Returns by rank how many other devices were in the shared cells of a radio. `firsts` is memory for the first entry of each cell
 * of each radio, one for each entry.
 */
export function countComparedDevices(cells: CellLevels, roster: Roster, firsts: Uint32Array): Uint32Array {
  const { radios, deviceOf, devices } = roster
  const starts = startsByRank(cells, radios.length)
  listCells(cells, starts, firsts)
  const seenBy = new Uint32Array(devices)
  const counts = new Uint32Array(radios.length)
  let others = 0

  /** Counts the devices of a cell that were not yet seen by the radio with this mark. */
  function countCell(part: CellPart, first: number, mark: number): void {
    for (let entry = first; ; entry++) {
      const device = deviceOf[rankAt(part, entry)] ?? 0
      if (seenBy[device] !== mark) {
        seenBy[device] = mark
        others++
      }
      if (isLastAt(part, entry)) return
    }
  }

  for (let rank = 0; rank < radios.length; rank++) {
    const mark = rank + 1
    others = 0
    seenBy[deviceOf[rank] ?? 0] = mark
    for (let at = starts[rank] ?? 0; at < (starts[rank + 1] ?? 0); at++) {
      const place = firsts[at] ?? 0
      const part = cells.parts[partOf(place)]
      if (part) countCell(part, entryOf(place), mark)
    }
    counts[rank] = others
  }
  return counts
}
