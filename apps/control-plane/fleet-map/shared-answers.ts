import { LRUCache } from 'lru-cache'
import type { Clock } from '#core/clock'
import { cacheBytes } from '#fleet-map/memory-limits'
import { type Coding, compressText } from '#http/compression'

/** The bytes of an answer in any coding, each made at most once. */
export type SharedAnswer = (coding: Coding | undefined) => Promise<Buffer>

export type SharedAnswers = {
  /** The answer under this key, rendered when it is first needed and kept for a second for all who need the same. */
  share(key: string, render: () => string): SharedAnswer
  /** Bytes of the answers kept. */
  keptBytes(): number
}

type Kept = { answer: SharedAnswer }

const sharedMs = 1_000
const smallestBytes = 1_000

/** Renders and compresses an answer once for all who ask for it at the same time. */
export function createSharedAnswers(clock: Clock, maxBytes = cacheBytes.answers): SharedAnswers {
  const shared = new LRUCache<string, Kept>({
    maxSize: maxBytes,
    ttl: sharedMs,
    // Without further requests the last answers would stay in memory.
    ttlAutopurge: true,
    ttlResolution: 0,
    perf: { now: clock },
  })
  return {
    share(key, render) {
      const known = shared.get(key)
      if (known) return known.answer
      const answer = shareable(render, (bytes) => {
        // The size is only known now; what does not fit is answered and not kept.
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

/** `onGrowth` hears how many bytes the text and its codings take together. */
function shareable(render: () => string, onGrowth: (bytes: number) => void): SharedAnswer {
  const encoded = new Map<Coding | undefined, Promise<Buffer>>()
  let text: string | undefined
  let size = 0
  const grow = (bytes: number) => {
    size += bytes
    onGrowth(size)
  }
  return (coding) => {
    const known = encoded.get(coding)
    if (known) return known
    if (text === undefined) {
      text = render()
      grow(text.length)
    }
    const bytes = coding ? compressText(text, coding) : Promise.resolve(Buffer.from(text))
    encoded.set(coding, bytes)
    bytes.then(
      ({ length }) => grow(length),
      () => encoded.delete(coding),
    )
    return bytes
  }
}
