import type { Clock } from '#core/clock'
import { createSharedReads } from '#core/shared-reads'
import { sendsSignInLinks } from '#people/sign-in'
import type { Queryable } from '#postgres/pool'

const lifeMs = 1_000

/**
 * Returns whether people can get sign-in links by e-mail. The sign-in page asks without credentials, so the database is asked at
 * most once a second; while it is unavailable, the last answer stays.
 */
export function followMailLinks(db: Queryable, clock: Clock): () => Promise<boolean> {
  const answers = createSharedReads<boolean>({
    clock,
    maxSize: 1,
    agesOf: (_, startedMs) => ({ freshUntilMs: startedMs + lifeMs, oldestUntilMs: Number.POSITIVE_INFINITY }),
  })
  return () => answers.read('links', () => sendsSignInLinks(db)).catch(() => false)
}
