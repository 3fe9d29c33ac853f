import { z } from 'zod'
import { parseDecimal } from './decimal-number.ts'
import { parseRfc3339 } from './rfc3339.ts'

/** C0, DEL and C1 break logs, terminals and CSV. */
const controls = String.raw`\u0000-\u001f\u007f-\u009f`
/**
 * Invisible characters make texts differ that look the same: zero-width characters, marks of direction, separators of lines,
 * fillers, selectors of variants and, from U+E0000 to U+E0FFF, tags. Without U+FE0F, because emoji have it. Tags are named by the first halves of
 * their pairs, because the patterns are part of the OpenAPI description and not all its readers know `\u{…}`.
 */
const invisibles =
  String.raw`\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f` +
  String.raw`\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\udb40-\udb43`
const without = (characters: string) => new RegExp(`^[^${characters}]*$`)
const printable = without(controls)
const visible = without(controls + invisibles)
// The only control characters of a text with several lines are tabs and line feeds.
const visibleLines = without(String.raw`\u0000-\u0008\u000b-\u001f\u007f-\u009f` + invisibles)
// A cell of CSV separates tags by semicolons.
const tagPattern = without(`;${controls}${invisibles}`)
/** The longest sequence that NFC makes one UTF-16 unit. */
const maxDecomposition = 4

function whyRefused(value: unknown): string {
  const found = [...String(value)].find((character) => printable.test(character) && !visible.test(character))
  const code = found?.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')
  if (code) return `Invisible characters are not allowed: U+${code}.`
  return printable.test(String(value)) ? 'Semicolons are not allowed.' : 'Control characters are not allowed.'
}

const normalizedText = (maxLength: number, pattern: RegExp, string = z.string()) =>
  string
    .trim()
    // Normalization takes seconds for a text of combining marks that is much too long.
    .overwrite((value) => (value.length > maxLength * maxDecomposition ? value : value.normalize()))
    .max(maxLength)
    .regex(pattern, { error: ({ input }) => whyRefused(input) })
    .refine((value) => value.isWellFormed(), 'Unpaired surrogates are not allowed.')

const textOf = (maxLength: number, pattern: RegExp) => normalizedText(maxLength, pattern).min(1)

/**
 * Returns a schema for text that people type. It trims the text, converts it to NFC, and rejects control characters and
 * invisible characters.
 */
export const text = (maxLength = 200) => textOf(maxLength, visible)

/**
 * Returns a schema for text of several lines that people type. Like `text`, but it accepts tabs and an empty text, and its line breaks
 * become `\n`.
 */
export const multilineText = (maxLength: number) =>
  normalizedText(
    maxLength,
    visibleLines,
    z.string().overwrite((value) => value.replaceAll(/\r\n?/g, '\n')),
  )

/** Returns a schema for a tag of a device or place. */
export const newTag = () => textOf(64, tagPattern)

/** Returns a schema for text to look for, or to keep. It accepts invisible characters, because older names can have them. */
export const soughtText = (maxLength: number) => textOf(maxLength, printable)

/** Returns a schema for a UUID in upper or lower case. Its output is in lower case. */
export const uuid = () =>
  z
    .guid()
    .overwrite((id) => id.toLowerCase())
    .meta({ format: 'uuid', example: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f' })

/** Returns a schema for a time in a response: RFC 3339 in UTC with milliseconds. */
export const instantOut = () => z.iso.datetime({ precision: 3 }).meta({ example: '2026-05-04T12:30:00.000Z' })

const inUtc = (text: string): string => {
  const epochMs = parseRfc3339(text)
  return epochMs === null ? text : new Date(epochMs).toISOString()
}

/**
 * Returns a schema for a time in a request: RFC 3339 with any offset, also in lower case and with a leap second. Its output is the
 * time in UTC with milliseconds.
 */
export const instantText = () =>
  z
    .string()
    .refine((text) => parseRfc3339(text) !== null, {
      error: 'Must be a time such as 2026-01-31T12:00:00Z.',
      params: { code: 'invalid_format' },
    })
    .overwrite(inUtc)
    .meta({ format: 'date-time' })

/**
 * Returns a schema for a number in a query, in decimal. A schema with `coerce` would accept an empty text as 0, and hexadecimal
 * digits. Use `prefault` instead of `default`, which OpenAPI documents describe.
 */
export const numberIn = <Schema extends z.ZodType<number>>(schema: Schema) =>
  z.preprocess((sent) => (typeof sent === 'string' ? (parseDecimal(sent) ?? Number.NaN) : sent), schema)
