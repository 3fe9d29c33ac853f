import { createNumberList, includesNumber, type NumberList, pushNumber } from '#core/number-list'

/** Known samples of one device and kind, each by its time and source. */
export type SeenTimes = {
  /** Times up to here may have been forgotten, so only the database can decide. */
  floorMs: number
  newestMs: number
  generation: number
  /** The sources of these samples. The place of a source in this list is part of the numbers below. */
  sources: string[]
  /** Known samples of the current and the previous generation, as `numberOf`. */
  current: NumberList
  previous: NumberList
  /** All of these samples, built when many must be searched. */
  lookup: Set<number> | undefined
}

export type Sighting = 'new' | 'repeated' | 'unsure'

export const createSeenTimes = (): SeenTimes => ({
  ...{ floorMs: 0, newestMs: 0, generation: 0 },
  sources: [],
  current: createNumberList(),
  previous: createNumberList(),
  lookup: undefined,
})

/** Knows no samples, but that the database may have some up to `floorMs`. */
export function startSeenTimes(seen: SeenTimes, floorMs: number, generation: number): void {
  seen.floorMs = floorMs
  seen.newestMs = floorMs
  seen.generation = generation
  seen.sources.length = 0
  seen.current.length = 0
  seen.previous.length = 0
  seen.lookup = undefined
}

/** More than the modems and interfaces of a report. */
const maxSources = 512

/** A sample as one number: its time, and the place of its source as a fraction. Exact, because a time has 41 bits. */
const numberOf = (tsMs: number, place: number): number => tsMs + place / maxSources

/**
 * Whether the sample is known. A sample in order needs one comparison. A sample that is older than the known ones is
 * `unsure` and must be looked up in the database. Does not add the sample.
 */
export function sight(seen: SeenTimes, tsMs: number, source: string, generation: number): Sighting {
  if (seen.generation !== generation) age(seen, generation)
  if (tsMs > seen.newestMs) return 'new'
  const place = seen.sources.indexOf(source)
  if (place >= 0 && isRemembered(seen, numberOf(tsMs, place))) return 'repeated'
  return tsMs > seen.floorMs ? 'new' : 'unsure'
}

/** Keeps a sample for two generations. */
export function remember(seen: SeenTimes, tsMs: number, source: string): void {
  const sample = numberOf(tsMs, placeOf(seen, source))
  pushNumber(seen.current, sample)
  seen.lookup?.add(sample)
  if (tsMs > seen.newestMs) seen.newestMs = tsMs
}

function placeOf(seen: SeenTimes, source: string): number {
  const place = seen.sources.indexOf(source)
  if (place >= 0) return place
  // No router has so many sources. From then on, the database decides about all samples until now.
  if (seen.sources.length === maxSources) startSeenTimes(seen, seen.newestMs, seen.generation)
  return seen.sources.push(source) - 1
}

const fewTimes = 128

function isRemembered(seen: SeenTimes, sample: number): boolean {
  if (seen.current.length + seen.previous.length <= fewTimes) {
    return includesNumber(seen.current, sample) || includesNumber(seen.previous, sample)
  }
  seen.lookup ??= new Set([...samplesIn(seen.previous), ...samplesIn(seen.current)])
  return seen.lookup.has(sample)
}

const samplesIn = ({ numbers, length }: NumberList): Float64Array => numbers.subarray(0, length)

/** Starts a generation. Call it only when queries return the rows of the generation before the previous one. */
function age(seen: SeenTimes, generation: number): void {
  forget(seen, seen.previous)
  const { current } = seen
  if (generation - seen.generation > 1) forget(seen, current)
  seen.current = seen.previous
  seen.previous = current
  seen.generation = generation
  seen.lookup = undefined
}

/** From then on, the database decides about these samples. */
function forget(seen: SeenTimes, samples: NumberList): void {
  for (const sample of samplesIn(samples)) if (sample > seen.floorMs) seen.floorMs = Math.floor(sample)
  samples.length = 0
}
