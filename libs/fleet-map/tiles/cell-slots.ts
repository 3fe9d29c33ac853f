import { latLngToCell } from 'h3-js'

/** Numbers (slots) for the H3 cells of one resolution that are in use. */
export type CellSlots = {
  /** The slot of the cell that contains a position. A cell that has none gets one. */
  slotAt(lat: number, lon: number): number
  /** The cell of a slot, as hexadecimal text. */
  cellOf(slot: number): string
  /** Takes the slot away from its cell, for another one. */
  free(slot: number): void
  /** How many cells have a slot. */
  cells(): number
  bytes(): number
}

const none = -1
// The first two digits of an index are its mode and its resolution. The others are a number below 2^52, exact in a double.
const commonDigits = 2
const otherDigits = 13
const hexadecimal = 16
/** Multipliers of Knuth's and of xxHash: neighbouring cells differ in a few bits only. */
const [lowFactor, highFactor] = [0x9e3779b1, 0x85ebca77]
const highUnit = 2 ** 32

/**
 * A hash table in typed arrays, with a list of slots for each hash. With a `Map` from the text of the cells, a level of a million
 * cells takes 112 MB instead of 72.
 */
export function createCellSlots(resolution: number): CellSlots {
  let common = ''
  let keys = new Float64Array(1_024)
  /** By slot: the next slot with the same hash, or of those that are free. */
  let next = new Int32Array(1_024)
  let heads = new Int32Array(2_048).fill(none)
  let freed = none
  let reserved = 0
  let used = 0

  const hashOf = (key: number): number => {
    const mixed = Math.imul((key % highUnit) | 0, lowFactor) ^ Math.imul((key / highUnit) | 0, highFactor)
    return (mixed ^ (mixed >>> 15)) & (heads.length - 1)
  }
  const link = (slot: number): void => {
    const hash = hashOf(keys[slot] ?? 0)
    next[slot] = heads[hash] ?? none
    heads[hash] = slot
  }
  const grow = (): void => {
    const capacity = 2 * keys.length
    const [longerKeys, longerNext] = [new Float64Array(capacity), new Int32Array(capacity)]
    longerKeys.set(keys)
    keys = longerKeys
    next = longerNext
    heads = new Int32Array(2 * capacity).fill(none)
    // It grows only when no slot is free.
    for (let slot = 0; slot < reserved; slot++) link(slot)
  }
  const reserve = (): number => {
    if (freed !== none) {
      const slot = freed
      freed = next[slot] ?? none
      return slot
    }
    if (reserved === keys.length) grow()
    return reserved++
  }

  return {
    slotAt(lat, lon) {
      const h3 = latLngToCell(lat, lon, resolution)
      common ||= h3.slice(0, commonDigits)
      const key = Number.parseInt(h3.slice(commonDigits), hexadecimal)
      for (let slot = heads[hashOf(key)] ?? none; slot !== none; slot = next[slot] ?? none) {
        if (keys[slot] === key) return slot
      }
      const slot = reserve()
      keys[slot] = key
      link(slot)
      used++
      return slot
    },
    cellOf: (slot) => common + (keys[slot] ?? 0).toString(hexadecimal).padStart(otherDigits, '0'),
    free(slot) {
      const hash = hashOf(keys[slot] ?? 0)
      let before = none
      for (let at = heads[hash] ?? none; at !== slot && at !== none; at = next[at] ?? none) before = at
      const after = next[slot] ?? none
      if (before === none) heads[hash] = after
      else next[before] = after
      next[slot] = freed
      freed = slot
      used--
    },
    cells: () => used,
    bytes: () => keys.byteLength + next.byteLength + heads.byteLength,
  }
}
