import type { Clock } from '#core/clock'
import { createFairQueue } from '#core/fair-queue'
import { cacheBytes } from '#fleet-map/memory-limits'
import { createSharedAnswers } from '#fleet-map/shared-answers'
import { collect } from '#http/chunked-body'
import type { ResponseCoding } from '#http/compression'

// A large response needs tens of megabytes until it is sent. Render them one after another to limit memory.
const renderLimits = { maxRunning: 4, maxRunningPerOwner: 1, maxWaitingPerOwner: 100 }
const lifeMs = 1_000

/** Large responses of the fleet map, each rendered and compressed once for all callers within a second. */
export function createLargeAnswers(clock: Clock) {
  const renders = createFairQueue(renderLimits)
  const answers = createSharedAnswers(clock, { maxBytes: cacheBytes.answers, lifeMs })
  return {
    /** The bytes of the response of this key. It is rendered on the share of `owner`. */
    read: (key: string, owner: string, coding: ResponseCoding | undefined, render: () => AsyncIterable<Uint8Array>) =>
      answers.read(key, coding, () => renders.run(owner, () => collect(render()))),
  }
}
