import { z } from 'zod'
import { type Cell, table } from '../cli/table.ts'

/** The input of tools that return a list page by page. */
export const pageInput = {
  limit: z.int().min(1).max(100).default(25).describe('The most items to return.'),
  cursor: z
    .string()
    .max(2_000)
    .exactOptional()
    .describe('`nextCursor` of the page before, with the same other arguments.'),
}

/** The output of tools that return a list. */
export const pageOutput = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item),
    nextCursor: z.string().nullable().describe('For the next page; null on the last one.'),
  })

type ListPage = { items: unknown[]; nextCursor: string | null }

/** A page as a table, and a sentence if there are more items. */
export function pageText(
  { items, nextCursor }: ListPage,
  { header, rows, ifEmpty, total }: { header: string[]; rows: Cell[][]; ifEmpty: string; total?: number | undefined },
): string {
  const list = table(header, rows, ifEmpty)
  if (nextCursor === null) return list
  const count = total === undefined ? 'There are more.' : `${items.length} of ${total}.`
  return `${list}\n\n${count} For the next page, call the tool again with the cursor ${nextCursor}`
}
