/**
 * Why a row is sent to QuestDB: a new sample, an earlier row that a fix moved, a dwell, or a report that is processed
 * again after a restart.
 */
export const sendReasons = ['fresh', 'realigned', 'dwell', 'replayed'] as const
export type SendReason = (typeof sendReasons)[number]

/** What a writer has done since its start, as counts that its parts increase. */
export type Activity = {
  /** Flushes to QuestDB. */
  batches: number
  retries: number
  damages: number
  replays: number
  /** States of devices that were read from the database. */
  statesRestored: number
  rowsSent: Record<SendReason, number>
}

export const createActivity = (): Activity => ({
  ...{ batches: 0, retries: 0, damages: 0, replays: 0, statesRestored: 0 },
  rowsSent: { fresh: 0, realigned: 0, dwell: 0, replayed: 0 },
})
