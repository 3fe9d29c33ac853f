import type { Queryable } from '#postgres/pool'

/** Milliseconds since the epoch by the database's clock, which all processes share. */
export const databaseNowMs = async (db: Queryable): Promise<number> => (await databaseMoment(db)).nowMs

/** What the database contains at a moment. */
export type DatabaseMoment = {
  /** By the database's clock. */
  nowMs: number
  /** The oldest transaction that is not complete. Those before it are. */
  oldestXid: string | undefined
}

export type MomentRow = { now_ms: number; oldest_xid: string }

export const momentSql = `
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now_ms,
         pg_snapshot_xmin(pg_current_snapshot())::text AS oldest_xid`

export async function databaseMoment(db: Queryable): Promise<DatabaseMoment> {
  const { rows } = await db.query<MomentRow>(momentSql)
  return momentOf(rows[0])
}

export const momentOf = (row: MomentRow | undefined): DatabaseMoment => ({
  nowMs: row?.now_ms ?? 0,
  oldestXid: row?.oldest_xid,
})
