/**
 * Why a row is sent to QuestDB: a new sample, an earlier row that a fix moved, a dwell, or a report that is processed
 * again after a restart.
 */
export const sendReasons = ['fresh', 'realigned', 'dwell', 'replayed'] as const
export type SendReason = (typeof sendReasons)[number]

export type SentRows = {
  add(reasons: readonly SendReason[]): void
  /** Rows since the start, by reason. */
  list(): Record<SendReason, number>
}

export const noSentRows: Record<SendReason, number> = { fresh: 0, realigned: 0, dwell: 0, replayed: 0 }

/** Counts rows by the reason for which they are sent. */
export function createSentRows(): SentRows {
  const counts = { ...noSentRows }
  return {
    add(reasons) {
      for (const reason of reasons) counts[reason] += 1
    },
    list: () => ({ ...counts }),
  }
}
