import { errorText } from '#core/error-text'
import { type Repeating, repeat } from '#core/schedule'
import type { Logger } from '#http/request-log'
import { createFirstRefreshes } from '#questdb/schema/first-refreshes'
import { paceViews } from '#questdb/schema/view-pace'
import type { QuestdbSql } from '#questdb/server/sql'

const everyMs = 2_000
const paceEveryMs = 60_000

/**
 * Sets how often views are refreshed, and refreshes those of a new installation. One writer of a process does it. It has its own
 * turns: a slow statement about a view must not delay the watch, for which a writer waits before it stores rows.
 */
export function startViewUpkeep(questdb: QuestdbSql, logger: Logger): Repeating {
  const refreshFirst = createFirstRefreshes(questdb)
  let pacedAtMs = Number.NEGATIVE_INFINITY
  let failure: string | undefined

  /** Logs a failure once, not at every turn of an outage. */
  async function attempt(work: Promise<void>): Promise<void> {
    try {
      await work
      failure = undefined
    } catch (error) {
      const detail = errorText(error)
      if (detail !== failure) logger.warn({ detail }, 'the refreshes of views were not checked')
      failure = detail
    }
  }
  async function upkeep(): Promise<void> {
    const nowMs = performance.now()
    await attempt(refreshFirst(nowMs))
    if (nowMs - pacedAtMs < paceEveryMs) return
    pacedAtMs = nowMs
    await attempt(paceViews(questdb))
  }
  return repeat(everyMs, upkeep, () => {})
}
