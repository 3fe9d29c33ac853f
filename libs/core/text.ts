/** True when a database column can store the text. JSON strings may contain NUL and lone surrogates, which it cannot. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** Replaces NUL and lone surrogates with U+FFFD. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\u{fffd}')

/** True when every key, string and number of a JSON value can be stored. JSON may contain numbers that overflow a double. */
export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value)
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorableJson(inner))
}

/** Applies `storable` to every key and string of a JSON value. */
export function storableJson<Value>(value: Value): Value
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (Array.isArray(value)) return value.map((item) => storableJson(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storable(key), storableJson(inner)]))
}

/** Names have no control characters when they are stored. This keeps every header and line on one line all the same. */
export const onOneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ')
