/** A range of elements, each of which belongs to one of the groups from 0. */
type Elements = {
  from: number
  to: number
  groups: number
  groupOf(index: number): number
  swap(a: number, b: number): void
}

/** Moves elements so that groups follow each other in order. Returns where each group ends. Needs no memory for a copy (American flag sort). */
export function groupInPlace({ from, to, groups, groupOf, swap }: Elements): Uint32Array {
  const ends = new Uint32Array(groups)
  for (let index = from; index < to; index++) {
    const group = groupOf(index)
    ends[group] = (ends[group] ?? 0) + 1
  }
  const next = new Uint32Array(groups)
  for (let group = 0, end = from; group < groups; group++) {
    next[group] = end
    end += ends[group] ?? 0
    ends[group] = end
  }
  for (let group = 0; group < groups; group++) {
    const end = ends[group] ?? 0
    for (let at = next[group] ?? 0; at < end; ) {
      const target = groupOf(at)
      const place = target === group ? at : (next[target] ?? 0)
      if (place === at) at++
      else {
        swap(at, place)
        next[target] = place + 1
      }
    }
  }
  return ends
}
