/** Numbers cells from 0 in the order in which they come. A cell is known by five integers of 32 bits. */
export type CellIndex = {
  indexOf(a: number, b: number, c: number, d: number, e: number): number
  /** Forgets all cells. Keeps the memory. */
  clear(): void
}

const parts = 5
const free = -1
const firstCapacity = 1_024

const hashOf = (a: number, b: number, c: number, d: number, e: number): number => {
  let hash =
    Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35) ^ Math.imul(d, 0x27d4eb2f) ^ e
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 0
}

export function createCellIndex(): CellIndex {
  let count = 0
  let keys = new Int32Array(parts * firstCapacity)
  // At most half full.
  let slots = new Int32Array(2 * firstCapacity).fill(free)

  const part = (cell: number, at: number) => keys[parts * cell + at] ?? 0

  function slotOf(a: number, b: number, c: number, d: number, e: number): number {
    const mask = slots.length - 1
    for (let slot = hashOf(a, b, c, d, e) & mask; ; slot = (slot + 1) & mask) {
      const cell = slots[slot] ?? free
      if (cell === free) return slot
      const at = parts * cell
      if (keys[at] === a && keys[at + 1] === b && keys[at + 2] === c && keys[at + 3] === d && keys[at + 4] === e)
        return slot
    }
  }

  function grow(): void {
    keys = new Int32Array(keys.buffer.transfer(2 * keys.byteLength))
    slots = new Int32Array(2 * slots.length).fill(free)
    for (let cell = 0; cell < count; cell++)
      slots[slotOf(part(cell, 0), part(cell, 1), part(cell, 2), part(cell, 3), part(cell, 4))] = cell
  }

  return {
    indexOf(a, b, c, d, e) {
      if (2 * count >= slots.length) grow()
      const slot = slotOf(a, b, c, d, e)
      const known = slots[slot] ?? free
      if (known !== free) return known
      slots[slot] = count
      keys.set([a, b, c, d, e], parts * count)
      return count++
    },
    clear() {
      count = 0
      slots.fill(free)
    },
  }
}
