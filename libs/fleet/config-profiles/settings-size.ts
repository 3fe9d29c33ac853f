import { isObject, isRedaction, type Json } from '#fleet/config-profiles/settings-tree'

/**
 * True when settings of a caller certainly exceed `maxBytes` as JSON. Adds up the minimum size of each value and stops at
 * the limit, so that the cost depends on `maxBytes` and not on the size of the input.
 */
export const isLargerThan = (input: Json, maxBytes: number): boolean => minimumBytesOf(input, maxBytes) > maxBytes

/** Null and a redaction count one byte: in a merge patch they remove or keep a value. */
function minimumBytesOf(input: Json, maxBytes: number): number {
  // No UTF-16 unit takes less than one byte in UTF-8.
  if (typeof input === 'string') return input.length + 2
  if (typeof input !== 'object' || input === null || isRedaction(input)) return 1
  if (isObject(input) && input.$secret !== undefined) return minimumBytesOf(input.$secret, maxBytes)
  // Object.keys, because Object.entries of an object with 100,000 members takes longer than parsing it.
  const keys = isObject(input) ? Object.keys(input) : undefined
  const memberCount = isObject(input) ? (keys?.length ?? 0) : input.length
  let bytes = 1
  for (let index = 0; index < memberCount && bytes <= maxBytes; index += 1) {
    const key = keys?.[index]
    const member = isObject(input) ? input[key ?? ''] : input[index]
    bytes += (key === undefined ? 0 : key.length + 3) + 1
    bytes += minimumBytesOf(member ?? null, maxBytes - bytes)
  }
  return bytes
}
