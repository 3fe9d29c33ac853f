import { sumOfEach } from '#postgres/bisect'
import type { Queryable } from '#postgres/pool'

/** Which rows of a table to delete. `where` is plain SQL over `values` as $1, $2, …. */
export type Deletion = { table: string; where: string; values?: readonly unknown[] }

const chunkSize = 10_000

/**
 * Deletes rows in statements of at most 10,000, so that none takes too long however many rows there are. A table that fails
 * does not stop the others; afterwards, this throws its error. Returns how many rows were deleted.
 */
export async function deleteInChunks(db: Queryable, deletions: readonly Deletion[]): Promise<number> {
  const errors: unknown[] = []
  const deleted = await sumOfEach(
    deletions,
    (deletion) => deleteAll(db, deletion),
    (error) => errors.push(error),
  )
  if (errors.length > 0) throw errors[0]
  return deleted
}

async function deleteAll(db: Queryable, { table, where, values = [] }: Deletion): Promise<number> {
  for (let deleted = 0; ; ) {
    const { rowCount } = await db.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ${table} WHERE ${where} LIMIT ${chunkSize} FOR UPDATE SKIP LOCKED))`,
      [...values],
    )
    deleted += rowCount ?? 0
    if ((rowCount ?? 0) < chunkSize) return deleted
  }
}
