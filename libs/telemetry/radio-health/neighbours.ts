import { medianOfFirst, sortFirst } from './median.ts'

/** The median of sorted values without one of them, `left`, which is at least two others. */
function medianWithout(sorted: Float64Array, count: number, left: number): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < left) low = middle + 1
    else high = middle
  }
  const at = (index: number) => sorted[index < low ? index : index + 1] ?? 0
  const half = (count - 1) >> 1
  return count % 2 === 0 ? at(half) : (at(half - 1) + at(half)) / 2
}

/** Compares the radios of one shared cell with each other. Made once and used for millions of cells. */
export type Neighbours = {
  /**
   * Writes for each of the first `count` radios the median of the other devices, of which each has one voice: the median of
   * its radios. Radios are in order of their devices, at least three of them.
   */
  referencesOf(levels: Float64Array, devices: Uint32Array, count: number, references: Float64Array): void
}

export function createNeighbours(): Neighbours {
  let [voices, sorted, own] = [new Float64Array(64), new Float64Array(64), new Float64Array(8)]

  /** Writes one voice a device, and returns their number. */
  function listVoices(levels: Float64Array, devices: Uint32Array, count: number): number {
    let voice = 0
    for (let from = 0, to = 0; from < count; from = to) {
      while (to < count && devices[to] === devices[from]) to++
      if (own.length < to - from) own = new Float64Array(2 * (to - from))
      for (let index = from; index < to; index++) own[index - from] = levels[index] ?? 0
      voices[voice++] = medianOfFirst(own, to - from)
    }
    return voice
  }

  return {
    referencesOf(levels, devices, count, references) {
      if (voices.length < count) [voices, sorted] = [new Float64Array(2 * count), new Float64Array(2 * count)]
      const voiceCount = listVoices(levels, devices, count)
      for (let voice = 0; voice < voiceCount; voice++) sorted[voice] = voices[voice] ?? 0
      sortFirst(sorted, voiceCount)
      for (let index = 0, voice = 0; index < count; index++) {
        if (index > 0 && devices[index] !== devices[index - 1]) voice++
        references[index] = medianWithout(sorted, voiceCount, voices[voice] ?? 0)
      }
    },
  }
}
