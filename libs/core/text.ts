/** JSON text can say what no database column holds: NUL, and halves of surrogate pairs. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** The text with U+FFFD in place of what cannot be stored. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\u{fffd}')

/** Whether every key, string and number inside a JSON value can be stored: JSON text can spell numbers beyond a double. */
export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value)
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorableJson(inner))
}

/** A JSON value with every key and every string inside it made storable. */
export function storableJson<Value>(value: Value): Value
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storable(value)
  if (Array.isArray(value)) return value.map((item) => storableJson(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [storable(key), storableJson(inner)]))
}
