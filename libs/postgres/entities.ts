import pg from 'pg'
import { named } from '#postgres/named'
import type { Queryable } from '#postgres/pool'

const { TIMESTAMPTZ } = pg.types.builtins
const toDate: (time: string) => Date = pg.types.getTypeParser(TIMESTAMPTZ)

/** Times as the API writes them: RFC 3339 in UTC with milliseconds. Other types as usual. */
const entityTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === TIMESTAMPTZ ? (time: string) => toDate(time).toISOString() : pg.types.getTypeParser(oid, format),
}

/** SQL: a time in milliseconds since the epoch, null for null. */
export const epochMs = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)::float8`

/**
 * Returns the rows of a statement with named parameters that names its columns as the API does. Columns of type `timestamptz`
 * are texts, as in responses.
 */
export async function queryEntities<Entity extends object>(
  db: Queryable,
  statement: string,
  values: Readonly<Record<string, unknown>>,
): Promise<Entity[]> {
  const { rows } = await db.query<Entity>({ ...named(statement, values), types: entityTypes })
  return rows
}

/** Like `queryEntities`, for a statement that always returns one row, which it returns. */
export async function queryEntity<Entity extends object>(
  db: Queryable,
  statement: string,
  values: Readonly<Record<string, unknown>>,
): Promise<Entity> {
  const [entity] = await queryEntities<Entity>(db, statement, values)
  if (!entity) throw new Error('The statement returned no row.')
  return entity
}
