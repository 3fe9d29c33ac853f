import { startsByRank } from './offsets.ts'
import type { Roster } from './roster.ts'
import type { CellLevels } from './shared-cells.ts'

/** Returns by rank how many other devices were in the shared cells of a radio. */
export function countComparedDevices(cells: CellLevels, { radios, deviceOf, devices }: Roster): Uint32Array {
  const { length, ranks, isLast } = cells
  const starts = startsByRank(cells, radios.length)
  const next = starts.slice()
  // The first entry of each cell of a radio.
  const firsts = new Uint32Array(length)
  for (let entry = 0, first = 0; entry < length; entry++) {
    const rank = ranks[entry] ?? 0
    const at = next[rank] ?? 0
    firsts[at] = first
    next[rank] = at + 1
    if (isLast[entry] === 1) first = entry + 1
  }
  const seenBy = new Uint32Array(devices)
  return Uint32Array.from(radios, (_, rank) => {
    const mark = rank + 1
    let others = 0
    seenBy[deviceOf[rank] ?? 0] = mark
    for (let at = starts[rank] ?? 0; at < (starts[rank + 1] ?? 0); at++) {
      for (let entry = firsts[at] ?? 0; ; entry++) {
        const device = deviceOf[ranks[entry] ?? 0] ?? 0
        if (seenBy[device] !== mark) {
          seenBy[device] = mark
          others++
        }
        if (isLast[entry] === 1) break
      }
    }
    return others
  })
}
