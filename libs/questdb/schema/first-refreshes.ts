import type { QuestdbSql } from '#questdb/server/sql'
import { views } from './views.ts'

const shortestPauseMs = 4_000
const longestPauseMs = 60_000

/**
 * Returns a function that refreshes the views of a new installation as soon as there are samples, so that the coverage of its
 * first minute is counted within seconds instead of up to a minute and a half. Call it every few seconds. The pauses between
 * refreshes become longer, up to a minute. Then only views without rows are left, for example because no sample has a position.
 */
export function createFirstRefreshes(questdb: QuestdbSql): (nowMs: number) => Promise<void> {
  /** The bases of views that are refreshed here. */
  const unfinished = new Map(views.map(({ name, base }) => [name, base]))
  /** Views that had no rows when they were first looked at. The others are of an earlier installation. */
  const fresh = new Set<string>()
  let pauseMs = shortestPauseMs
  let dueMs = 0
  /** Views of the last turn that was due. The next turn refreshes those that depend on them. */
  let refreshed = new Set<string>()

  return async (nowMs) => {
    const isDue = nowMs >= dueMs
    if (unfinished.size === 0 || !(isDue || refreshed.size > 0)) return
    const bases = refreshed
    refreshed = new Set()
    for (const name of await outdatedViews(questdb)) {
      const base = unfinished.get(name)
      if (base === undefined || !(isDue || bases.has(base))) continue
      const mayBeFinished = !fresh.has(name) || (isDue && pauseMs === longestPauseMs)
      if (mayBeFinished && (await hasRows(questdb, name))) {
        unfinished.delete(name)
        continue
      }
      fresh.add(name)
      if (isDue && refreshed.size === 0) {
        dueMs = nowMs + pauseMs
        pauseMs = Math.min(2 * pauseMs, longestPauseMs)
      }
      await questdb.query(`REFRESH MATERIALIZED VIEW ${name} INCREMENTAL`)
      if (isDue) refreshed.add(name)
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
