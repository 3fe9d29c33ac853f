import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import { createFairQueue } from '#core/fair-queue'
import { cacheBytes } from '#fleet-map/memory-limits'
import { type Chunks, collect, lengthOf } from '#http/chunked-body'
import { type Coding, compressChunks } from '#http/compression'

/** The bytes of a response in each content coding, made at most once. */
type SharedAnswer = (coding: Coding | undefined) => Promise<Chunks>

export type SharedAnswers = {
  /**
   * The response for this key. It is rendered on the share of `owner` at the first request and cached for a second.
   */
  share(key: string, owner: string, render: () => AsyncIterable<Uint8Array>): SharedAnswer
  /** Bytes of the cached responses. */
  keptBytes(): number
}

type Kept = { answer: SharedAnswer }

// A large response needs tens of megabytes until it is sent. Render them one after another to limit memory.
const renderLimits = { maxRunning: 4, maxRunningPerOwner: 1, maxWaitingPerOwner: 100 }
const sharedMs = 1_000
const smallestBytes = 1_000

/** Renders and compresses a response once for all concurrent requests. */
export function createSharedAnswers(clock: Clock, maxBytes = cacheBytes.answers): SharedAnswers {
  const renders = createFairQueue(renderLimits)
  const shared = new LRUCache<string, Kept>({
    maxSize: maxBytes,
    ttl: sharedMs,
    // Remove the last responses from memory even without further requests.
    ttlAutopurge: true,
    ttlResolution: 0,
    perf: { now: clock },
  })
  return {
    share(key, owner, render) {
      const known = shared.get(key)
      if (known) return known.answer
      const inTurn = () => renders.run(owner, () => collect(render()))
      const answer = shareable(inTurn, (bytes) => {
        // The size is known only now. A response that does not fit is sent but not cached.
        const leftMs = shared.getRemainingTTL(key)
        if (shared.peek(key)?.answer !== answer || leftMs <= 0) return
        shared.set(key, { answer }, { size: smallestBytes + bytes, ttl: leftMs })
      })
      shared.set(key, { answer }, { size: smallestBytes })
      return answer
    },
    keptBytes: () => shared.calculatedSize,
  }
}

/** `onGrowth` receives the total bytes of the text and its codings. */
function shareable(render: () => Promise<Chunks>, onGrowth: (bytes: number) => void): SharedAnswer {
  const encoded = new Map<Coding | undefined, Promise<Chunks>>()
  let size = 0

  const once = (coding: Coding | undefined, make: () => Promise<Chunks>): Promise<Chunks> => {
    const known = encoded.get(coding)
    if (known) return known
    const chunks = make()
    encoded.set(coding, chunks)
    chunks.then(
      (made) => {
        size += lengthOf(made)
        onGrowth(size)
      },
      () => encoded.delete(coding),
    )
    return chunks
  }
  const text = () => once(undefined, render)
  return (coding) => {
    if (coding === undefined) return text()
    return once(coding, async () => collect(compressChunks(await text(), coding)))
  }
}
