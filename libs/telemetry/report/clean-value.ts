import type { DecimalField, Field, NumberField, PlmnField, WordField } from './field-types.ts'
import { parseNumber } from './times.ts'

/** Why a value was replaced by null. Also the label of the counter. */
export type CleaningReason =
  | 'null_word'
  | 'wrong_type'
  | 'malformed'
  | 'out_of_range'
  | 'unknown_word'
  | 'unknown_field'
  | 'too_many'
  | 'unknown_quality'

/** The cleaned value, or the reason for null. Reasons are symbols, so that no text of a router can equal one. */
type Cleaned = number | string | (typeof failures)[keyof typeof failures]
export type CleanValue = (value: unknown) => Cleaned

const failures = {
  nullWord: Symbol('null_word'),
  wrongType: Symbol('wrong_type'),
  malformed: Symbol('malformed'),
  outOfRange: Symbol('out_of_range'),
  unknownWord: Symbol('unknown_word'),
} as const

export const reasonOf = (failure: symbol): CleaningReason => failure.description as CleaningReason

const nullWords: ReadonlySet<string> = new Set(['--', '-', 'N/A', 'n/a', 'N/a', 'n/A', ''])

/** What modems return for an unknown cell: all ones of 16 (of GSM), 28, 31, 32 and 36 bits. */
const unknownCellIds: ReadonlySet<string> = new Set(['268435455', '2147483647', '4294967295', '68719476735'])
/** Reserved area codes and all ones of 16 and 24 bits. An area of NR has 24 bits, so it may have the value 65534. */
const unknownAreas: ReadonlySet<string> = new Set(['16777214', '16777215', '2147483647'])
const unknownShortAreas: ReadonlySet<string> = new Set(['65534', '65535'])

/** Returns whether a clean identifier is the modem's mark for an unknown one. */
export function isUnknownIdentifier(field: 'cellId' | 'tac', value: string, rat: string | null): boolean {
  if (field === 'cellId') return unknownCellIds.has(value) || (rat === 'gsm' && value === '65535')
  return unknownAreas.has(value) || (rat !== 'nr-sa' && unknownShortAreas.has(value))
}

function numberCleaner({ min, max }: Pick<NumberField, 'min' | 'max'>): CleanValue {
  return (value) => {
    if (typeof value === 'number') return value >= min && value <= max ? value : failures.outOfRange
    if (typeof value !== 'string') return failures.wrongType
    if (nullWords.has(value.trim())) return failures.nullWord
    const parsed = parseNumber(value)
    if (parsed === null) return failures.malformed
    return parsed >= min && parsed <= max ? parsed : failures.outOfRange
  }
}

function textCleaner(): CleanValue {
  return (value) => {
    if (typeof value === 'number') return String(value)
    if (typeof value !== 'string') return failures.wrongType
    const trimmed = value.trim()
    return nullWords.has(trimmed) ? failures.nullWord : trimmed
  }
}

/** What modems write for `none`, without blanks, hyphens and underscores. */
const noService: ReadonlySet<string> = new Set(['noservice', 'nosignal', 'notregistered', 'searching'])

function wordCleaner({ words }: WordField): CleanValue {
  const known = new Set(words)
  return (value) => {
    if (typeof value !== 'string') return failures.wrongType
    if (known.has(value)) return value
    const trimmed = value.trim()
    if (nullWords.has(trimmed)) return failures.nullWord
    const word = trimmed.toLowerCase()
    if (known.has(word)) return word
    return known.has('none') && noService.has(word.replace(/[ _-]/g, '')) ? 'none' : failures.unknownWord
  }
}

const wholeNumber = /^(\d+|0x[0-9a-f]+)$/i

/** Reads a whole number from a number, decimal text or `0x…` text. `Number` reads all three. */
function readWhole(value: unknown): number | symbol {
  if (typeof value === 'number') return Number.isInteger(value) ? value : failures.malformed
  if (typeof value !== 'string') return failures.wrongType
  const trimmed = value.trim()
  if (nullWords.has(trimmed)) return failures.nullWord
  return wholeNumber.test(trimmed) ? Number(trimmed) : failures.malformed
}

function decimalCleaner({ max }: DecimalField): CleanValue {
  return (value) => {
    const whole = readWhole(value)
    if (typeof whole === 'symbol') return whole as Cleaned
    return whole >= 0 && whole <= max ? String(whole) : failures.outOfRange
  }
}

/** Text keeps leading zeros. No network has MCC 000, which modems report without one. */
function plmnCleaner(_field: PlmnField): CleanValue {
  return (value) => {
    if (typeof value === 'string' && /^\s*\d{5,6}\s*$/.test(value)) {
      const digits = value.trim()
      return digits.startsWith('000') ? failures.outOfRange : digits
    }
    const whole = readWhole(value)
    if (typeof whole === 'symbol') return whole as Cleaned
    if (whole >= 10_000 && whole <= 999_999) return String(whole)
    // A number lacks the leading zeros of MCC 001, that of test networks.
    return /^1\d{2,3}$/.test(String(whole)) ? `00${whole}` : failures.outOfRange
  }
}

/** Returns the cleaner of a field. Times and cell lists depend on other fields and are cleaned with the sample. */
export function compileCleaner(field: Exclude<Field, { type: 'time' | 'cells' }>): CleanValue {
  switch (field.type) {
    case 'number':
      return numberCleaner(field)
    case 'text':
      return textCleaner()
    case 'word':
      return wordCleaner(field)
    case 'decimal':
      return decimalCleaner(field)
    case 'plmn':
      return plmnCleaner(field)
  }
}
