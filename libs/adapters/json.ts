import { ServiceError } from '#core/errors'
import { decodeJson } from '#http/body'
import { type Refused, refuse } from './adapter.ts'

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the elements of a list, or an empty list for any other value. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns the members of both, those of objects merged. The later value wins. */
export function mergeRecords(
  earlier: Record<string, unknown>,
  later: Record<string, unknown>,
): Record<string, unknown> {
  const merged = { ...earlier }
  for (const [name, value] of Object.entries(later)) {
    const known = Object.hasOwn(merged, name) ? merged[name] : undefined
    Object.defineProperty(merged, name, {
      value: isRecord(known) && isRecord(value) ? mergeRecords(known, value) : value,
      ...{ enumerable: true, configurable: true, writable: true },
    })
  }
  return merged
}

/** Parses a JSON body. Its depth and its number of objects and arrays are bounded. */
export function parseJson(body: Buffer): { ok: true; value: unknown } | Refused {
  try {
    return { ok: true, value: decodeJson(body) }
  } catch (error) {
    if (error instanceof ServiceError) return refuse(error.message, error.code)
    throw error
  }
}
