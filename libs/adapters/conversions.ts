import { fieldTable } from '#telemetry/report/fields'

/** The reason why a conversion has no result: the maker's marker for "no value", or a value that it cannot read. */
export const noValue = Symbol('no value')
export const unusable = Symbol('unusable')

/** Converts a maker's value to the unit of our field. `description` is printed in docs/adapters.md. */
export type Conversion = {
  description: string
  read: (value: unknown) => unknown
  /** The maker's words that it knows, if it converts words. */
  known?: readonly string[]
}

const decimalNumber = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)$/

/** Returns a number, also from its decimal text. */
export function readNumber(value: unknown): number | typeof unusable {
  if (typeof value === 'number') return Number.isFinite(value) ? value : unusable
  if (typeof value !== 'string' || value.length > 64) return unusable
  const text = value.trim()
  return decimalNumber.test(text) ? Number(text) : unusable
}

export const number: Conversion = { description: 'number', read: readNumber }

/** A number in another unit. */
export const scaled = (factor: number, description: string): Conversion => ({
  description,
  read: (value) => {
    const sent = readNumber(value)
    return sent === unusable ? unusable : Number((sent * factor).toPrecision(12))
  },
})

export const text: Conversion = {
  description: 'text',
  read: (value) => {
    if (typeof value === 'number') return String(value)
    return typeof value === 'string' ? value.trim() : unusable
  },
}

const { maxCharacters = 0 } = fieldTable.connection.modem

/** The name of a modem. A report with a longer one would be rejected. */
export const modemName: Conversion = {
  description: `text of at most ${maxCharacters} characters`,
  read: (value) => {
    const name = text.read(value)
    return typeof name === 'string' && [...name].length > maxCharacters ? unusable : name
  },
}

/** An identifier as decimal digits: `cellId`, `tac` or `plmn`. Their form is checked when the sample is cleaned. */
export const digits: Conversion = {
  description: 'digits',
  read: (value) => (typeof value === 'string' || typeof value === 'number' ? String(value).trim() : unusable),
}

/** An identifier as hexadecimal digits, which becomes decimal. */
export const hexDigits: Conversion = {
  description: 'hexadecimal digits',
  read: (value) =>
    typeof value === 'string' && /^(?:0x)?[0-9a-f]{1,12}$/i.test(value.trim())
      ? String(Number.parseInt(value.trim(), 16))
      : unusable,
}

/** An area whose maker has 0 for the kind of area that does not apply: a tracking area, or that of older technologies. */
export const hexArea: Conversion = {
  description: 'hexadecimal digits; 0 is no value',
  read: (value) => {
    const area = hexDigits.read(value)
    return area === '0' ? noValue : area
  },
}

/** A number whose maker reports 0 if there is none. */
export const nonZero: Conversion = {
  description: 'number; 0 is no value',
  read: (value) => {
    const sent = readNumber(value)
    return sent === 0 ? noValue : sent
  },
}

/** The maker's words for ours, without regard to case. A word that maps to null means "no value". */
export function words(ours: Readonly<Record<string, string | null>>): Conversion {
  const known = new Map(Object.entries(ours).map(([word, mapped]) => [word.toLowerCase(), mapped]))
  const listed = Object.entries(ours).map(([word, mapped]) => `${word} → ${mapped ?? 'no value'}`)
  return {
    description: listed.join(', '),
    known: Object.keys(ours),
    read: (value) => {
      if (typeof value !== 'string' && typeof value !== 'number') return unusable
      const mapped = known.get(String(value).trim().toLowerCase())
      return mapped === undefined ? unusable : (mapped ?? noValue)
    },
  }
}

/** A conversion of an object or a list that is specific to one maker. */
export const derived = (description: string, read: (value: unknown) => unknown): Conversion => ({ description, read })

/** Registration by the states of `+CREG` (3GPP TS 27.007). */
export const registrationStates = {
  0: 'not_registered',
  1: 'home',
  2: 'searching',
  3: 'denied',
  4: 'unknown',
  5: 'roaming',
  6: 'home',
  7: 'roaming',
  8: 'emergency_only',
  9: 'home',
  10: 'roaming',
  11: 'emergency_only',
}
