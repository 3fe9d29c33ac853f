import type { Steps } from '#core/slices'
import { startsByRank } from './offsets.ts'
import type { Roster } from './roster.ts'
import { type CellLevels, isLastAt, rankAt } from './shared-cells.ts'

/** Entries that are read in one step. */
const entriesPerStep = 500_000

/**
 * Returns by rank how many other devices were in the shared cells of a radio. `firsts` is memory for the first entry of each cell
 * of each radio, one for each entry.
 */
export function* countComparedDevices(cells: CellLevels, roster: Roster, firsts: Uint32Array): Steps<Uint32Array> {
  const { radios, deviceOf, devices } = roster
  const starts = startsByRank(cells, radios.length)
  const next = starts.slice()
  for (let entry = 0, first = 0; entry < cells.length; entry++) {
    const rank = rankAt(cells, entry)
    const at = next[rank] ?? 0
    firsts[at] = first
    next[rank] = at + 1
    if (isLastAt(cells, entry)) first = entry + 1
    if (entry % entriesPerStep === 0) yield
  }
  const seenBy = new Uint32Array(devices)
  const counts = new Uint32Array(radios.length)
  let read = 0
  for (let rank = 0; rank < radios.length; rank++) {
    const mark = rank + 1
    let others = 0
    seenBy[deviceOf[rank] ?? 0] = mark
    for (let at = starts[rank] ?? 0; at < (starts[rank + 1] ?? 0); at++) {
      for (let entry = firsts[at] ?? 0; ; entry++) {
        const device = deviceOf[rankAt(cells, entry)] ?? 0
        if (seenBy[device] !== mark) {
          seenBy[device] = mark
          others++
        }
        read++
        if (isLastAt(cells, entry)) break
      }
    }
    counts[rank] = others
    if (read < entriesPerStep) continue
    yield
    read = 0
  }
  return counts
}
