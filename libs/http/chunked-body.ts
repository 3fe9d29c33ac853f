import { isSliceOver, nextSlice } from '#core/slices'

/** Bytes of a response in chunks. */
export type Chunks = readonly Uint8Array<ArrayBuffer>[]

/** Collects chunks. Calls `check` after each chunk except the first; its error ends the work. */
export async function collect(chunks: AsyncIterable<Uint8Array>, check: () => void = () => {}): Promise<Chunks> {
  const collected: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of chunks) {
    if (collected.length > 0) check()
    collected.push(chunk as Uint8Array<ArrayBuffer>)
  }
  return collected
}

export const lengthOf = (chunks: Chunks): number => chunks.reduce((sum, { length }) => sum + length, 0)

/**
 * A response with these bytes and their length. Several chunks are streamed as fast as the client takes them, so that the
 * bytes of a large response are neither copied nor written to the socket all at once.
 */
export function chunkedResponse(
  chunks: Chunks,
  { status = 200, headers }: { status?: number; headers: Headers },
): Response {
  headers.set('content-length', String(lengthOf(chunks)))
  const [only] = chunks
  if (only && chunks.length === 1) return new Response(only, { status, headers })
  let next = 0
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (isSliceOver()) await nextSlice()
        const chunk = chunks[next++]
        if (chunk) controller.enqueue(chunk)
        else controller.close()
      },
    },
    // Do not read ahead of the client.
    { highWaterMark: 0 },
  )
  return new Response(body, { status, headers })
}
