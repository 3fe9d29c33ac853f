import { parseDecimal } from '#core/decimal-number'
import { parseRfc3339 } from '#core/rfc3339'

/** Epoch milliseconds of a time as a router may send it: RFC 3339 text or a number of milliseconds; else null. */
export function parseTime(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? Math.trunc(value) : null
  return typeof value === 'string' ? parseRfc3339(value) : null
}

/** A number, or the number a text spells in decimal; null for everything else. */
export function parseNumber(value: unknown): number | null {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? parseDecimal(value.trim()) : null
}
