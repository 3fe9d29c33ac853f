/**
 * SQL: when job `j` of the left-joined batch `b` expires, while devices may take it. Its lifetime counts from its creation,
 * release or retry, and again from the end of a pause, which one column of the batch says for all jobs.
 */
export const expiresAtSql = `greatest(j.expires_at, b.deliverable_from + j.lifetime_s * interval '1 second')`

/** SQL condition: batch `b` holds job `j` back, so its lifetime does not count. */
export const isHeldBackSql = `coalesce(j.hold = 'rollout' OR b.status = 'paused', false)`

/** SQL: when to look for expired jobs of batch `b`, one of which expires at `time`. Null means now and remains null. */
export const earlierExpirySql = (time: string): string =>
  `CASE WHEN b.expires_at > ${time} THEN ${time} ELSE b.expires_at END`
