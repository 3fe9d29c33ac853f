import type { Clock } from '#core/clock'
import { createSharedReads } from '#core/shared-reads'
import { type Chunks, collect, lengthOf } from '#http/chunked-body'
import { compressChunks, type ResponseCoding } from '#http/compression'

/** The bytes of responses in each content coding, made once for all callers. */
export type SharedAnswers = {
  /** The response of this key, rendered at most `lifeMs` ago. */
  read(key: string, coding: ResponseCoding | undefined, render: () => Promise<Chunks>): Promise<Chunks>
  /** Bytes of the cached responses. */
  keptBytes(): number
}

type Rendered = { chunks: Chunks; renderedMs: number }

const answerBytes = 500

export function createSharedAnswers(
  clock: Clock,
  { maxBytes, lifeMs }: { maxBytes: number; lifeMs: number },
): SharedAnswers {
  const rendered = createSharedReads<Rendered>({
    clock,
    maxSize: maxBytes,
    sizeOf: ({ chunks }, key) => answerBytes + 2 * key.length + lengthOf(chunks),
    agesOf: ({ renderedMs }) => ({ freshUntilMs: renderedMs + lifeMs }),
    forgottenAfterMs: lifeMs,
  })
  return {
    async read(key, coding, render) {
      const plain = (): Promise<Rendered> =>
        rendered.read(key, async () => {
          const renderedMs = clock()
          return { chunks: await render(), renderedMs }
        })
      if (coding === undefined) return (await plain()).chunks
      const { chunks } = await rendered.read(`${coding} ${key}`, async () => {
        const { chunks: text, renderedMs } = await plain()
        return { chunks: await collect(compressChunks(text, coding)), renderedMs }
      })
      return chunks
    },
    keptBytes: rendered.keptSize,
  }
}
