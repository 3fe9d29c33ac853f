/**
 * Returns the JSON text of a value in the canonical form of RFC 8785: no spaces, the members of each object sorted by the
 * UTF-16 code units of their keys, numbers and strings as ECMAScript writes them. Equal values have equal texts, so that a
 * device and the service compute the same digest. Throws a TypeError for what JSON cannot hold: undefined, functions,
 * bigints, numbers that are not finite, and text with a lone surrogate.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return canonicalText(value)
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`JSON has no number ${value}.`)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return JSON.stringify(value)
  if (typeof value !== 'object') throw new TypeError(`JSON has no ${typeof value}.`)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`
  // The default order of `sort` is that of UTF-16 code units.
  const members = Object.keys(value)
    .sort()
    .map((key) => `${canonicalText(key)}:${canonicalJson((value as Record<string, unknown>)[key])}`)
  return `{${members.join(',')}}`
}

function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('Canonical JSON has no lone surrogates.')
  return JSON.stringify(text)
}
