/**
 * Fields whose absence means that a position is good, with their kinds. If the maker sent a value that cannot be read, the sample
 * must say so, and the position is not used.
 */
const qualityFields: ReadonlySet<string> = new Set([
  'location.accuracyM',
  'location.hdop',
  'location.fix',
  'location.fixTs',
  'location.ageMs',
  'cellular.accuracyM',
  'cellular.fixAgeMs',
])

/** No field of a quality has this word, so cleaning counts it as unknown. */
export const unknownWord = 'unknown'

/** Returns whether a field says how good a position is. `path`: kind and field, such as `location.hdop`. */
export const isQuality = (path: string): boolean => qualityFields.has(path)
