/** Known sample times of one device and kind. */
export type SeenTimes = {
  /** Times up to here may have been forgotten, so only the database can decide. */
  floorMs: number
  newestMs: number
  generation: number
  /** Known times of the current and the previous generation. */
  current: number[]
  previous: number[]
  /** All of these times, built when many must be searched. */
  lookup: Set<number> | undefined
}

export type Sighting = 'new' | 'repeated' | 'unsure'

/** `floorMs`: the newest time that the database may already have. */
export const startSeenTimes = (floorMs: number, generation: number): SeenTimes => ({
  floorMs,
  newestMs: floorMs,
  generation,
  current: [],
  previous: [],
  lookup: undefined,
})

/**
 * Whether the time is known. A sample in order needs one comparison. A sample that is older than the known times is
 * `unsure` and must be looked up in the database. Does not add the time.
 */
export function sight(seen: SeenTimes, tsMs: number, generation: number): Sighting {
  if (seen.generation !== generation) age(seen, generation)
  if (tsMs > seen.newestMs) return 'new'
  if (isRemembered(seen, tsMs)) return 'repeated'
  return tsMs > seen.floorMs ? 'new' : 'unsure'
}

/** Keeps a time for two generations. */
export function remember(seen: SeenTimes, tsMs: number): void {
  seen.current.push(tsMs)
  seen.lookup?.add(tsMs)
  if (tsMs > seen.newestMs) seen.newestMs = tsMs
}

const fewTimes = 128

function isRemembered(seen: SeenTimes, tsMs: number): boolean {
  if (seen.current.length + seen.previous.length <= fewTimes) {
    return seen.current.includes(tsMs) || seen.previous.includes(tsMs)
  }
  seen.lookup ??= new Set([...seen.previous, ...seen.current])
  return seen.lookup.has(tsMs)
}

/** Starts a generation. Call it only when queries return the rows of the generation before the previous one. */
function age(seen: SeenTimes, generation: number): void {
  const forgotten = generation - seen.generation > 1 ? [...seen.previous, ...seen.current] : seen.previous
  for (const tsMs of forgotten) if (tsMs > seen.floorMs) seen.floorMs = tsMs
  seen.previous = generation - seen.generation > 1 ? [] : seen.current
  seen.current = []
  seen.generation = generation
  seen.lookup = undefined
}
