import type { QuestdbSql } from '#questdb/sql'
import { views } from '#questdb/views'

const shortestPauseMs = 1_000
const longestPauseMs = 60_000

/**
 * Returns a function that refreshes each view without rows as soon as there are samples that it may count, so that a new
 * installation has its first coverage within seconds instead of up to a minute and a half. Call it often. The pauses between
 * refreshes become longer, because samples without a position give a view no rows, and a refresh can fail.
 */
export function createFirstRefreshes(questdb: QuestdbSql): (nowMs: number) => Promise<void> {
  /** Views that may have no rows. */
  const unfilled = new Set(views.map(({ name }) => name))
  let pauseMs = shortestPauseMs
  let dueMs = 0
  return async (nowMs) => {
    if (unfilled.size === 0 || nowMs < dueMs) return
    dueMs = nowMs + pauseMs
    for (const name of await outdatedViews(questdb)) {
      if (!unfilled.has(name)) continue
      if (await hasRows(questdb, name)) unfilled.delete(name)
      else {
        pauseMs = Math.min(2 * pauseMs, longestPauseMs)
        await questdb.query(`REFRESH MATERIALIZED VIEW ${name} INCREMENTAL`)
      }
    }
  }
}

const hasRows = async (questdb: QuestdbSql, name: string): Promise<boolean> =>
  (await questdb.query(`SELECT ts FROM ${name} LIMIT 1`)).length > 0

/** The views whose table or view has changed since their last refresh. */
async function outdatedViews(questdb: QuestdbSql): Promise<string[]> {
  const rows = await questdb.query<{ name: string }>(
    'SELECT view_name name FROM materialized_views() WHERE coalesce(refresh_base_table_txn, -1) < base_table_txn',
  )
  return rows.map(({ name }) => name)
}
