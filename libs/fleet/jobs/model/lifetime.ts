import { badRequest } from '#core/errors'
import { deliverySql, type JobDelivery } from '#fleet/jobs/model/good-moment'
import { deliverableFrom, type Schedule } from '#fleet/jobs/model/schedule'

/** What decides when devices may take a job. */
type JobTimes = { lifetimeS: number; schedule: Schedule | null; delivery: JobDelivery | null }

/**
 * Returns when a job expires that devices may take from `fromMs` on: at `latestAt`, or after its lifetime. If the job is delivered at
 * `latestAt`, its lifetime counts from then at the earliest, or from the next window if there is none at that time.
 */
export function expiryMs({ lifetimeS, schedule, delivery }: JobTimes, fromMs: number): number {
  const latestMs = delivery?.latestAt == null ? null : Date.parse(delivery.latestAt)
  if (latestMs !== null && delivery?.atLatest === 'expire') return latestMs
  const isLater = latestMs !== null && latestMs > fromMs
  return (isLater ? deliverableFrom(schedule, latestMs) : fromMs) + lifetimeS * 1_000
}

/** The last year that RFC 3339 can write. */
const endOfTimeMs = Date.UTC(10_000, 0)

/** Returns an expiry as a date. Throws 400 after the year 9999. `pointer`: the field of the request to blame. */
export function requireRepresentable(expiresAtMs: number, pointer: '/schedule/startAt' | '/delivery/latestAt'): Date {
  if (expiresAtMs < endOfTimeMs) return new Date(expiresAtMs)
  const name = pointer.split('/').at(-1)
  const detail = `${pointer}: The jobs would expire after the year 9999. Choose an earlier \`${name}\`.`
  throw badRequest(detail, [{ pointer, code: 'too_late', detail }])
}

/**
 * SQL: when job `j` of the left-joined batch `b` expires, while devices may take it. Its lifetime counts from its creation,
 * release or retry, and again from the end of a pause, which one column of the batch says for all jobs. Not so if it expires at
 * the end of its wait for a good moment.
 */
export const expiresAtSql = `CASE WHEN ${deliverySql('j', 'b')} ->> 'atLatest' = 'expire' THEN j.expires_at
  ELSE greatest(j.expires_at, b.deliverable_from + j.lifetime_s * interval '1 second') END`

/** SQL condition: batch `b` holds job `j` back, so its lifetime does not count. */
export const isHeldBackSql = `coalesce(j.hold = 'rollout' OR b.status = 'paused', false)`

/** SQL: when to look for expired jobs of batch `b`, one of which expires at `time`. Null means now and remains null. */
export const earlierExpirySql = (time: string): string =>
  `CASE WHEN b.expires_at > ${time} THEN ${time} ELSE b.expires_at END`
