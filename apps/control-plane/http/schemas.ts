import { z } from 'zod'
import { instantText, newTag, numberIn, soughtText, uuid } from '#core/schemas'

/**
 * A list of at most `maxEntries` for a request body. Rejects a longer list before it validates the entries: a body can
 * contain 500,000 invalid entries, and as many errors would block the process for seconds.
 */
export const listOf = <Schema extends z.ZodType>(maxEntries: number, schema: Schema) =>
  z.preprocess((value: z.input<Schema>, check) => {
    if (!Array.isArray(value) || value.length <= maxEntries) return value
    const entries = new Set<unknown>()
    for (let index = 0; index < value.length && entries.size <= maxEntries; index += 1) entries.add(value[index])
    if (entries.size <= maxEntries) return [...entries]
    check.addIssue({ code: 'too_big', origin: 'array', maximum: maxEntries, inclusive: true, input: value })
    return z.NEVER
  }, schema)

/** A list without duplicates; the limit counts distinct entries. */
export const distinct = <Item extends z.ZodType<string>>(item: Item, maxItems: number, minItems = 0) =>
  // Entries can become equal when they are trimmed or converted to lower case, so accept some more first.
  listOf(
    2 * maxItems,
    z
      .array(item)
      .overwrite((items) => [...new Set(items)])
      .min(minItems)
      .max(maxItems),
  )

export const tags = () => distinct(newTag(), 50)

/** Tags to look for, or of a device that may have had them before: without the rules for new tags. */
export const soughtTags = () => distinct(soughtText(64), 50)

/** A time in a request, as a `Date`: RFC 3339 with any offset. */
export const instantIn = () => instantText().transform((iso) => new Date(iso))

/** A query parameter that can be repeated. */
export const repeatable = <Item extends z.ZodType<string>>(item: Item, maxItems = 20) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item).max(maxItems))

/** A list of words, separated by commas or in repeated parameters. */
export const wordList = <Word extends string>(words: readonly [Word, ...Word[]]) =>
  z.preprocess(
    (value) => [value].flat().flatMap((part) => (typeof part === 'string' ? part.split(',') : [part])),
    distinct(z.enum(words), 64),
  )

/** A boolean query parameter: `true` or `false`. */
export const flag = () => z.enum(['true', 'false']).transform((word) => word === 'true')

/** The query of requests that can be tried. */
export const dryRunQuery = z.strictObject({
  dryRun: flag().default(false).describe('Checks everything, changes nothing, and returns 200 with what would happen.'),
})

/** How many items a page has at most if the request does not say. */
export const defaultItems = 50

/** Pagination parameters of all lists. */
export const pageQuery = {
  cursor: z.string().min(1).max(2_000).optional().describe('The `nextCursor` of the previous page.'),
  limit: numberIn(z.number().int().min(1).max(200))
    .prefault(defaultItems)
    .describe('Maximum number of items on a page.'),
}

/** The query parameter for the format of a response that `Accept` can choose too. */
export const fileFormat = <const Formats extends readonly [string, ...string[]]>(formats: Formats) =>
  z
    .enum(formats)
    .optional()
    .describe('The format of the response. By default the one that `Accept` prefers, and JSON without that header.')

/** Pagination parameters of lists that are also served as files. */
export const pageOrFileQuery = {
  cursor: pageQuery.cursor,
  limit: pageQuery.limit
    .unwrap()
    .optional()
    .describe(`Maximum number of items. By default ${defaultItems} for JSON and unlimited for CSV and Parquet.`),
}

/** A Parquet file in a response. */
export const parquetOut = z.string().meta({ format: 'binary' })

/** The response of all lists. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable().describe('Null on the last page.') })

/** A box on the map in a response. */
export const boundingBoxOut = () => z.tuple([z.number(), z.number(), z.number(), z.number()])

export const orgParams = z.object({ orgId: uuid() })

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe('Machine-readable error code.'),
    requestId: z.string(),
    errors: z.array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem document.' })
