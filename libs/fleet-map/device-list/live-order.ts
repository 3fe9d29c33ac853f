import { forEachInSlices } from '#core/slices'
import type { LiveSelection } from '#fleet/devices/live-filter'

/** What a device is sorted by; null for a device without a value. */
export type LiveValue = number | string | null

type Entry = { id: string; value: LiveValue }

/**
 * The order of devices by their values, from which pages are read without sorting all of them. Devices with equal values are in
 * the order of their ids, and devices without a value come last in both directions.
 */
export function liveOrder(
  ids: readonly string[],
  values: readonly LiveValue[],
  isDescending: boolean,
): Pick<LiveSelection, 'following' | 'positionOf'> {
  const indexes = new Map<string, number>()
  const entryAt = (index: number): Entry => ({ id: ids[index] ?? '', value: values[index] ?? null })
  const compare = comparison(isDescending)
  return {
    async following(position, count) {
      const after = position === undefined ? undefined : (JSON.parse(position) as Entry)
      let kept: Entry[] = []
      let last: Entry | undefined
      const shorten = () => {
        kept = kept.sort(compare).slice(0, count)
        if (kept.length === count) last = kept.at(-1)
      }
      await forEachInSlices(ids.keys(), (index) => {
        const entry = entryAt(index)
        if ((after && compare(entry, after) <= 0) || (last && compare(entry, last) > 0)) return
        kept.push(entry)
        if (kept.length >= 2 * count) shorten()
      })
      shorten()
      return kept.map(({ id }) => id)
    },
    positionOf(id) {
      if (indexes.size === 0) for (const [index, each] of ids.entries()) indexes.set(each, index)
      return JSON.stringify(entryAt(indexes.get(id) ?? -1))
    },
  }
}

const comparison =
  (isDescending: boolean) =>
  (a: Entry, b: Entry): number => {
    if (a.value === null || b.value === null) {
      if (a.value !== null || b.value !== null) return a.value === null ? 1 : -1
    } else if (a.value !== b.value) return a.value < b.value === isDescending ? 1 : -1
    if (a.id === b.id) return 0
    return a.id < b.id === isDescending ? 1 : -1
  }
