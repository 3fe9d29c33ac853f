import { isObject, isRedaction, type Json } from '#fleet/config-profiles/settings-tree'

/**
 * True when settings, as a caller sent them, are certain to take more than `maxBytes` as JSON. Counts the least that each
 * value can take, and stops at the limit: the cost depends on `maxBytes` and not on the size of the input.
 */
export const isLargerThan = (input: Json, maxBytes: number): boolean => leastBytesOf(input, maxBytes) > maxBytes

/** Null and a redaction count one byte: in a merge patch they stand for a value that is removed or kept. */
function leastBytesOf(input: Json, maxBytes: number): number {
  // No UTF-16 unit takes less than one byte in UTF-8.
  if (typeof input === 'string') return input.length + 2
  if (typeof input !== 'object' || input === null || isRedaction(input)) return 1
  if (isObject(input) && input.$secret !== undefined) return leastBytesOf(input.$secret, maxBytes)
  // Not Object.entries: reading every value of an object with 100,000 members takes longer than parsing it.
  const keys = isObject(input) ? Object.keys(input) : undefined
  const memberCount = isObject(input) ? (keys?.length ?? 0) : input.length
  let bytes = 1
  for (let index = 0; index < memberCount && bytes <= maxBytes; index += 1) {
    const key = keys?.[index]
    const member = isObject(input) ? input[key ?? ''] : input[index]
    bytes += (key === undefined ? 0 : key.length + 3) + 1
    bytes += leastBytesOf(member ?? null, maxBytes - bytes)
  }
  return bytes
}
