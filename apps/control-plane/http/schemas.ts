import { z } from 'zod'
import { instantOut, text, uuid } from '#core/schemas'

export { instantOut, text, uuid }

/**
 * A list of at most `maxEntries`, for the body of a request. A longer one is refused before its entries are looked at:
 * 500,000 wrong entries fit into a body, and as many errors would hold the process for seconds.
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

/** A list in which an entry said twice counts once, also against the limit. */
export const distinct = <Item extends z.ZodType<string>>(item: Item, maxItems: number, minItems = 0) =>
  // Entries that differ only in what is trimmed or in case become one later, so that a few more may be sent.
  listOf(
    2 * maxItems,
    z
      .array(item)
      .overwrite((items) => [...new Set(items)])
      .min(minItems)
      .max(maxItems),
  )

export const tags = () => distinct(text(64), 50)

/** An instant in a request: RFC 3339 with any offset. */
export const instantIn = () => z.iso.datetime({ offset: true }).transform((iso) => new Date(iso))

/** A query parameter that may stand several times. */
export const repeatable = <Item extends z.ZodType<string>>(item: Item, maxItems = 20) =>
  z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(item).max(maxItems))

/** `true` or `false` in a query. */
export const flag = () => z.enum(['true', 'false']).transform((word) => word === 'true')

/** Paging parameters of every list. */
export const pageQuery = {
  cursor: z.string().min(1).max(2_000).optional().describe('Where the previous page ended: its `nextCursor`.'),
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('Entries on a page.'),
}

/** The answer of every list. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable().describe('Null on the last page.') })

export const orgParams = z.object({ orgId: uuid() })

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe('The word to program against.'),
    requestId: z.string(),
    errors: z.array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() })).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem document.' })
