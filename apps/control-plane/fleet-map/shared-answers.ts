import type { Clock } from '#core/clock'
import { type Coding, compressText } from '#http/compression'

/** The bytes of an answer in any coding, each made at most once. */
export type SharedAnswer = (coding: Coding | undefined) => Promise<Buffer>

export type SharedAnswers = {
  /** The answer under this key, rendered when it is first needed and kept for a second for all who need the same. */
  share(key: string, render: () => string): SharedAnswer
}

const sharedMs = 1_000
const maxShared = 64

/** Renders and compresses an answer once for all who ask for it at the same time. */
export function createSharedAnswers(clock: Clock): SharedAnswers {
  const shared = new Map<string, { answer: SharedAnswer; madeMs: number }>()
  return {
    share(key, render) {
      const nowMs = clock()
      for (const [old, { madeMs }] of shared) {
        if (nowMs - madeMs > sharedMs || shared.size > maxShared) shared.delete(old)
      }
      const known = shared.get(key)
      if (known) return known.answer
      const answer = shareable(render)
      shared.set(key, { answer, madeMs: nowMs })
      return answer
    },
  }
}

function shareable(render: () => string): SharedAnswer {
  const encoded = new Map<Coding | undefined, Promise<Buffer>>()
  let text: string | undefined
  return (coding) => {
    const known = encoded.get(coding)
    if (known) return known
    text ??= render()
    const bytes = coding ? compressText(text, coding) : Promise.resolve(Buffer.from(text))
    encoded.set(coding, bytes)
    return bytes
  }
}
