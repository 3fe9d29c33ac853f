import type { Clock } from '#core/clock'
import { createFairQueue } from '#core/fair-queue'
import { cacheBytes } from '#fleet-map/memory-limits'
import { createSharedAnswers } from '#fleet-map/shared-answers'
import { collect } from '#http/chunked-body'
import type { ResponseCoding } from '#http/compression'

// A large response needs tens of megabytes until it is sent. Render them one after another to limit memory.
const renderLimits = { maxRunning: 4, maxRunningPerOwner: 1, maxWaitingPerOwner: 100 }
/** A response that has its own time is the same for a second. One that only depends on a shared list lasts as long as most lists. */
const lifeMs = { moment: 1_000, list: 30_000 }

/** Large responses of the fleet map, each rendered and compressed once for all callers. */
export function createLargeAnswers(clock: Clock) {
  const renders = createFairQueue(renderLimits)
  const answers = {
    moment: createSharedAnswers(clock, { maxBytes: cacheBytes.answers, lifeMs: lifeMs.moment }),
    list: createSharedAnswers(clock, { maxBytes: cacheBytes.listAnswers, lifeMs: lifeMs.list }),
  }
  return {
    /**
     * The bytes of the response of this key, which is one of a moment or one of a list. It is rendered on the share of `owner`.
     */
    read: (
      of: keyof typeof answers,
      key: string,
      owner: string,
      coding: ResponseCoding | undefined,
      render: () => AsyncIterable<Uint8Array>,
    ) => answers[of].read(key, coding, () => renders.run(owner, () => collect(render()))),
  }
}
