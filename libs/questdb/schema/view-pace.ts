import type { QuestdbSql } from '#questdb/server/sql'
import { refreshSql, views } from './views.ts'

type ViewRow = { name: string; started_at: number | null; finished_at: number | null; minutes: number; now: number }

const minuteMs = 60_000
const periodsMinutes = [1, 2, 5, 10, 20]
/** The refreshes of a view take at most this share of the time, unless the longest period is too short for it. */
const mostShare = 0.15

/**
 * Sets how often each view is refreshed, from the duration of its last refresh. A refresh counts all votes of an hour again, and the
 * hour of a million devices has millions of them: refreshed each minute, QuestDB would do nothing else.
 */
export async function paceViews(questdb: QuestdbSql): Promise<void> {
  const rows = await questdb.query<ViewRow>(
    `SELECT view_name name, last_refresh_start_timestamp started_at, last_refresh_finish_timestamp finished_at,
            timer_interval minutes, now() now
     FROM materialized_views() WHERE timer_interval_unit = 'MINUTE'`,
  )
  const byName = new Map(rows.map((row) => [row.name, row]))
  for (const view of views) {
    const row = byName.get(view.name)
    if (!row || row.started_at === null) continue
    // While a refresh runs, the time of the end is that of the one before.
    const isRunning = row.finished_at === null || row.finished_at < row.started_at
    const endedAtMs = isRunning ? row.now : (row.finished_at ?? row.now)
    const minutes = refreshPeriodMinutes((endedAtMs - row.started_at) / minuteMs, row.minutes)
    if (minutes !== row.minutes) {
      await questdb.query(
        `ALTER MATERIALIZED VIEW ${view.name} SET REFRESH ${refreshSql(view, minutes)} TIME ZONE 'UTC'`,
      )
    }
  }
}

/** The period for a view whose last refresh took `tookMinutes`. It becomes shorter step by step, and only if that is clearly enough. */
export function refreshPeriodMinutes(tookMinutes: number, presentMinutes: number): number {
  const isEnough = (period: number, share = mostShare) => tookMinutes <= share * period
  const needed = periodsMinutes.find((period) => isEnough(period)) ?? Math.max(...periodsMinutes)
  if (needed >= presentMinutes) return needed
  const shorter = periodsMinutes.findLast((period) => period < presentMinutes) ?? needed
  return isEnough(shorter, mostShare / 2) ? shorter : presentMinutes
}
