/** A source of random numbers that are the same for the same seed. */
export type Random = {
  /** At least 0, less than 1. */
  next(): number
  /** An integer from `least` to `most`, both inclusive. */
  whole(least: number, most: number): number
  /** An integer from 1 to `most` with a uniformly distributed order of magnitude, so small numbers are frequent. */
  size(most: number): number
  chance(probability: number): boolean
  pick<Item>(items: readonly [Item, ...Item[]]): Item
}

/** Mulberry32 with a hash of the seeds, so that parts with separate seeds do not depend on their order. */
export function createRandom(...seeds: readonly number[]): Random {
  let state = seeds.reduce((mixed, seed) => Math.imul(mixed ^ seed, 0x9e3779b1) ^ (mixed >>> 15), 0x6d2b79f5)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const whole = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    whole,
    size: (most) => Math.floor(Math.exp(next() * Math.log(most))),
    chance: (probability) => next() < probability,
    pick: (items) => items[whole(0, items.length - 1)] ?? items[0],
  }
}
