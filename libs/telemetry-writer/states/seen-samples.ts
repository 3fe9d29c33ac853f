/** Known samples of one device and kind, each by its time and source. */
export type SeenTimes = {
  /** Times up to here may have been forgotten, so only the database can decide. */
  floorMs: number
  newestMs: number
  generation: number
  /** The sources of these samples. The place of a source in this list is part of the numbers below. */
  sources: string[]
  /** Known samples of the current and the previous generation, as `numberOf`. */
  current: number[]
  previous: number[]
  /** All of these samples, built when many must be searched. */
  lookup: Set<number> | undefined
}

export type Sighting = 'new' | 'repeated' | 'unsure'

/** `floorMs`: the newest time that the database may already have. */
export const startSeenTimes = (floorMs: number, generation: number): SeenTimes => ({
  floorMs,
  newestMs: floorMs,
  generation,
  sources: [],
  current: [],
  previous: [],
  lookup: undefined,
})

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
  seen.current.push(sample)
  seen.lookup?.add(sample)
  if (tsMs > seen.newestMs) seen.newestMs = tsMs
}

function placeOf(seen: SeenTimes, source: string): number {
  const place = seen.sources.indexOf(source)
  if (place >= 0) return place
  // No router has so many sources. From then on, the database decides about all samples until now.
  if (seen.sources.length === maxSources) Object.assign(seen, startSeenTimes(seen.newestMs, seen.generation))
  return seen.sources.push(source) - 1
}

const fewTimes = 128

function isRemembered(seen: SeenTimes, sample: number): boolean {
  if (seen.current.length + seen.previous.length <= fewTimes) {
    return seen.current.includes(sample) || seen.previous.includes(sample)
  }
  seen.lookup ??= new Set([...seen.previous, ...seen.current])
  return seen.lookup.has(sample)
}

/** Starts a generation. Call it only when queries return the rows of the generation before the previous one. */
function age(seen: SeenTimes, generation: number): void {
  const forgotten = generation - seen.generation > 1 ? [...seen.previous, ...seen.current] : seen.previous
  for (const sample of forgotten) if (sample > seen.floorMs) seen.floorMs = Math.floor(sample)
  seen.previous = generation - seen.generation > 1 ? [] : seen.current
  seen.current = []
  seen.generation = generation
  seen.lookup = undefined
}
