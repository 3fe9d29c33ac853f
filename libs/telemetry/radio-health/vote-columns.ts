import type { Steps } from '#core/slices'
import { medianOfFirst } from './median.ts'
import { levelBits } from './shared-cells.ts'

export const levelFactor = 2 ** levelBits
export const hourOf = (moment: number): number => moment >>> levelBits
export const levelOf = (moment: number): number => moment & (levelFactor - 1)

/** Votes in columns. `moments`: the hour and the level as one number. Numbers of a later hour are larger. */
export type VoteColumns = { cells: Uint32Array; radios: Uint32Array; moments: Uint32Array }

export const createVoteColumns = (length: number): VoteColumns => ({
  cells: new Uint32Array(length),
  radios: new Uint32Array(length),
  moments: new Uint32Array(length),
})

/** Votes that are sorted in one step. */
const votesPerStep = 500_000

/**
 * Counting sort: writes `from`, or all indexes, to `to` in order of the key of each, and otherwise in the order that they have. There
 * are `to.length` indexes; keys are below `keyCount`.
 */
export function* orderBy(
  keys: Uint32Array,
  keyCount: number,
  from: Uint32Array | undefined,
  to: Uint32Array,
): Steps<void> {
  const next = new Uint32Array(keyCount + 1)
  for (let index = 0; index < to.length; index++) {
    const key = (keys[index] ?? 0) + 1
    next[key] = (next[key] ?? 0) + 1
    if (index % votesPerStep === 0) yield
  }
  for (let key = 0; key < keyCount; key++) next[key + 1] = (next[key + 1] ?? 0) + (next[key] ?? 0)
  for (let at = 0; at < to.length; at++) {
    const index = from ? (from[at] ?? 0) : at
    const key = keys[index] ?? 0
    const place = next[key] ?? 0
    to[place] = index
    next[key] = place + 1
    if (at % votesPerStep === 0) yield
  }
}

/**
 * Returns the votes with one for each radio, cell and hour before `newestHour`: the median of its levels. `order` has the indexes in
 * order of cell, radio and time.
 */
export function withHourMedians(
  votes: VoteColumns,
  order: Uint32Array,
  newestHour: number,
): VoteColumns & { length: number } {
  const { cells, radios, moments } = votes
  const reduced = { ...createVoteColumns(order.length), length: 0 }
  let levels = new Float64Array(64)
  const momentAt = (at: number) => moments[order[at] ?? 0] ?? 0

  function put(index: number, moment: number): void {
    reduced.cells[reduced.length] = cells[index] ?? 0
    reduced.radios[reduced.length] = radios[index] ?? 0
    reduced.moments[reduced.length++] = moment
  }

  function endOfHour(from: number): number {
    const first = order[from] ?? 0
    for (let to = from + 1; to < order.length; to++) {
      const index = order[to] ?? 0
      const isSameRadio = cells[index] === cells[first] && radios[index] === radios[first]
      if (!isSameRadio || hourOf(momentAt(to)) !== hourOf(momentAt(from))) return to
    }
    return order.length
  }

  function medianLevel(from: number, to: number): number {
    if (levels.length < to - from) levels = new Float64Array(2 * (to - from))
    for (let at = from; at < to; at++) levels[at - from] = levelOf(momentAt(at))
    return Math.floor(medianOfFirst(levels, to - from) + 0.5)
  }

  for (let from = 0, to = 0; from < order.length; from = to) {
    to = endOfHour(from)
    const hour = hourOf(momentAt(from))
    if (hour < newestHour) put(order[from] ?? 0, hour * levelFactor + medianLevel(from, to))
    else for (let at = from; at < to; at++) put(order[at] ?? 0, momentAt(at))
  }
  return reduced
}
