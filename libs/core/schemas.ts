import { z } from 'zod'

// C0, DEL and C1 break logs, terminals and CSV.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the schema rejects them.
const printable = /^[^\u0000-\u001f\u007f-\u009f]*$/

/** Returns a schema for text that people type. It trims the text and rejects control characters. */
export const text = (maxLength = 200) =>
  z
    .string()
    .trim()
    .min(1)
    .max(maxLength)
    .regex(printable, 'Control characters are not allowed.')
    .refine((value) => value.isWellFormed(), 'Unpaired surrogates are not allowed.')

/** Returns a schema for a UUID in upper or lower case. Its output is in lower case. */
export const uuid = () =>
  z
    .guid()
    .overwrite((id) => id.toLowerCase())
    .meta({ format: 'uuid', example: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f' })

/** Returns a schema for a time in a response: RFC 3339 in UTC with milliseconds. */
export const instantOut = () => z.iso.datetime({ precision: 3 }).meta({ example: '2026-05-04T12:30:00.000Z' })
