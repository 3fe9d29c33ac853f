import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/** A requested page: at most `limit` items after the position `after` of an earlier page. */
export type PageRequest = { limit: number; after: string | undefined }

/** One page of a list. `nextAfter` is the position after its last item, or null on the last page. */
export type Page<Item> = { items: Item[]; nextAfter: string | null }

const idOf = ({ id }: { id: string }) => id

/**
 * Reads a page of entities, which are listed by id. The statement has the parameters `$after`, which is null for the first page,
 * and `$limit`.
 */
export async function queryPage<Entity extends { id: string }>(
  db: Queryable,
  statement: string,
  values: Readonly<Record<string, unknown>>,
  { limit, after }: PageRequest,
): Promise<Page<Entity>> {
  const rows = await queryEntities<Entity>(db, statement, { ...values, after, limit: limit + 1 })
  return pageOf(rows, limit, (entity) => entity)
}

/** The page of a query that read one row more than `limit`; lists are ordered by id. */
export const pageOf = <Row extends { id: string }, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
): Page<Item> => pageBy(rows, limit, toItem, idOf)

/** `pageOf` for a list in another order; `positionOf` returns the position of a row. */
export function pageBy<Row, Item>(
  rows: readonly Row[],
  limit: number,
  toItem: (row: Row) => Item,
  positionOf: (row: Row) => string,
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return { items: shown.map((row) => toItem(row)), nextAfter: last === undefined ? null : positionOf(last) }
}

/**
 * Reads a page of entities that are listed by (created_at, id), newest first. The statement has the parameters `$afterTime`,
 * `$afterId` and `$limit`, and selects `created_at::text AS "createdText"` beside the entity.
 */
export async function queryPageByTime<Entity extends { id: string }>(
  db: Queryable,
  statement: string,
  values: Readonly<Record<string, unknown>>,
  { limit, after = '' }: PageRequest,
): Promise<Page<Entity>> {
  // Positions come back signed, so their form needs no check.
  const [afterTime, afterId] = after === '' ? [null, null] : after.split('|')
  const parameters = { ...values, afterTime, afterId, limit: limit + 1 }
  const rows = await queryEntities<{ id: string; createdText: string }>(db, statement, parameters)
  return pageBy(
    rows,
    limit,
    ({ createdText: _, ...entity }) => entity as Entity,
    // The text of Postgres keeps the microseconds.
    ({ createdText, id }) => `${createdText}|${id}`,
  )
}
