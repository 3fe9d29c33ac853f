/**
 * The level of each radio in each shared cell, cell after cell, in parts. There are millions, of four bytes each, or six in a fleet with
 * more than 32,768 radios. Parts grow without a copy of what is there.
 */
export type CellLevels = { length: number; parts: readonly CellPart[] }

/**
 * Whole cells: the first `length` entries. A member is a rank, plus `lastOfCell` in the last entry of a cell. A level is in hundredths of
 * a dB above the lowest one.
 */
export type CellPart = {
  length: number
  members: Uint16Array | Uint32Array
  levels: Uint16Array
  lastOfCell: number
}

export const rankAt = ({ members, lastOfCell }: CellPart, entry: number): number =>
  (members[entry] ?? 0) & (lastOfCell - 1)
export const isLastAt = ({ members, lastOfCell }: CellPart, entry: number): boolean =>
  (members[entry] ?? lastOfCell) >= lastOfCell

const partBits = 18
const entriesOfPart = 2 ** partBits

/** A number for an entry at which a cell begins. */
export const placeOf = (part: number, entry: number): number => part * entriesOfPart + entry
export const partOf = (place: number): number => place >>> partBits
export const entryOf = (place: number): number => place & (entriesOfPart - 1)

/** The first `radios` ranks of a cell, ascending, and their levels. */
type LevelsOfCell = { radios: number; ranks: ArrayLike<number>; levels: ArrayLike<number> }

/** A list to which cells are added. `radios`: their number. */
export function createCellLevels(radios: number): CellLevels & { add(cell: LevelsOfCell): void } {
  const isSmall = radios <= 2 ** 15
  const lastOfCell = isSmall ? 2 ** 15 : 2 ** 31
  const parts: CellPart[] = []

  function partFor(count: number): CellPart {
    const last = parts.at(-1)
    if (last && last.length + count <= entriesOfPart) return last
    // A cell with more radios than a part has entries is alone in its own.
    const size = Math.max(entriesOfPart, count)
    const members = isSmall ? new Uint16Array(size) : new Uint32Array(size)
    const part = { length: 0, members, levels: new Uint16Array(size), lastOfCell }
    parts.push(part)
    return part
  }

  const list = {
    length: 0,
    parts,
    add(cell: LevelsOfCell) {
      const part = partFor(cell.radios)
      const { members, levels } = part
      for (let index = 0; index < cell.radios; index++) {
        members[part.length + index] = cell.ranks[index] ?? 0
        levels[part.length + index] = Math.floor((cell.levels[index] ?? 0) + 0.5)
      }
      part.length += cell.radios
      list.length += cell.radios
      members[part.length - 1] = (cell.ranks[cell.radios - 1] ?? 0) + lastOfCell
    },
  }
  return list
}
