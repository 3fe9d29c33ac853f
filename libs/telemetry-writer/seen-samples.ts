/** The sample times of one device and kind that have been seen, as far as they are remembered. */
export type SeenTimes = {
  /** Every time up to here may have been seen and forgotten; only the database knows. */
  floorMs: number
  newestMs: number
  generation: number
  /** Times seen in this generation and in the one before. */
  current: number[]
  previous: number[]
  /** All of them, made when many have to be looked through. */
  lookup: Set<number> | undefined
}

export type Sighting = 'new' | 'repeated' | 'unsure'

/** `floorMs`: the newest time the database may already hold. */
export const startSeenTimes = (floorMs: number, generation: number): SeenTimes => ({
  floorMs,
  newestMs: floorMs,
  generation,
  current: [],
  previous: [],
  lookup: undefined,
})

/**
 * Whether the time was seen before. In-order samples are decided by one comparison; a sample older than what is
 * remembered is `unsure`, and the database is to be asked. Does not remember it.
 */
export function sight(seen: SeenTimes, tsMs: number, generation: number): Sighting {
  if (seen.generation !== generation) age(seen, generation)
  if (tsMs > seen.newestMs) return 'new'
  if (isRemembered(seen, tsMs)) return 'repeated'
  return tsMs > seen.floorMs ? 'new' : 'unsure'
}

/** Remembers a time until two generations have passed. */
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

/** A new generation begins only when the rows of the one before last can be found in the database. */
function age(seen: SeenTimes, generation: number): void {
  const forgotten = generation - seen.generation > 1 ? [...seen.previous, ...seen.current] : seen.previous
  for (const tsMs of forgotten) if (tsMs > seen.floorMs) seen.floorMs = tsMs
  seen.previous = generation - seen.generation > 1 ? [] : seen.current
  seen.current = []
  seen.generation = generation
  seen.lookup = undefined
}
