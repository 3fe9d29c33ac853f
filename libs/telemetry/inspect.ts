const maxDepth = 8
const maxStringCharacters = 256
const maxNumber = 2 ** 53

/** Characters are code points: an emoji is one, though UTF-16 counts it as two. */
function isTooLong(text: string): boolean {
  if (text.length <= maxStringCharacters) return false
  return text.length > 2 * maxStringCharacters || [...text].length > maxStringCharacters
}

function problemWithKey(key: string): string | null {
  if (key === '__proto__') return 'A member is named __proto__.'
  return isTooLong(key) ? `A member name is longer than ${maxStringCharacters} characters.` : null
}

function problemWithScalar(value: unknown): string | null {
  if (typeof value === 'number') {
    return value >= -maxNumber && value <= maxNumber ? null : 'A number is not finite or beyond 2^53.'
  }
  if (typeof value === 'string' && isTooLong(value)) return `A string is longer than ${maxStringCharacters} characters.`
  return null
}

function problemWithNested(value: object, depth: number): string | null {
  if (depth > maxDepth) return `The sample is nested deeper than ${maxDepth} levels.`
  const isList = Array.isArray(value)
  for (const key in value) {
    const child = (value as Record<string, unknown>)[key]
    const problem =
      (isList ? null : problemWithKey(key)) ??
      (typeof child === 'object' && child !== null ? problemWithNested(child, depth + 1) : problemWithScalar(child))
    if (problem !== null) return problem
  }
  return null
}

/**
 * Walks a parsed sample once. Returns how many of its members are not in `knownFields`, or a sentence saying why the
 * sample must be refused whole. The sample object itself is level one of the depth.
 */
export function inspectSample(sample: Record<string, unknown>, knownFields: ReadonlySet<string>): number | string {
  let unknownFields = 0
  for (const key in sample) {
    const value = sample[key]
    const problem = typeof value === 'object' && value !== null ? problemWithNested(value, 2) : problemWithScalar(value)
    if (problem !== null) return problem
    if (!knownFields.has(key)) {
      const problemWithName = problemWithKey(key)
      if (problemWithName !== null) return problemWithName
      unknownFields++
    }
  }
  return unknownFields
}
