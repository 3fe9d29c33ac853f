import type pg from 'pg'
import { toError } from '#core/error-text'
import { isSliceOver, nextSlice } from '#core/slices'
import { createRowFilter, type ReadRow } from './row-filter.ts'

/** Called after each part of the rows, of at most 64 KiB. No more come until its promise resolves. */
export type PauseRows = () => Promise<void> | undefined

type BinaryStatement = { text: string; values: unknown[]; binary: true; queryMode: 'extended' }

/**
 * Takes the rows out of what arrives before the client sees it, as a COPY of node-postgres does. Reads in slices, so that the rest of the
 * process has its turns also when the server is faster. If it throws, the connection cannot be used again.
 */
export async function readClientRows(
  client: pg.PoolClient,
  statement: BinaryStatement,
  { readRow, pause }: { readRow: ReadRow; pause: PauseRows | undefined },
): Promise<void> {
  const { stream } = client.connection
  const [listener] = stream.listeners('data')
  if (!listener) throw new Error('The connection is closed.')
  const filter = createRowFilter(readRow, (bytes) => listener.call(stream, bytes))
  let failure: Error | undefined
  const fail = (error: unknown) => {
    failure = toError(error)
    stream.destroy(failure)
  }
  let paused: Promise<void> | undefined
  const onData = (chunk: Buffer) => {
    try {
      filter(chunk)
    } catch (error) {
      fail(error)
      return
    }
    const pausing = pause?.() ?? (isSliceOver() ? nextSlice() : undefined)
    if (!pausing) return
    stream.pause()
    paused = pausing.then(() => void stream.resume(), fail)
  }
  stream.removeAllListeners('data').on('data', onData)
  try {
    await client.query(statement)
  } catch (error) {
    failure ??= toError(error)
  }
  // The last part of the rows ends the statement as well, and what the caller does meanwhile must not go on afterwards.
  await paused
  stream.removeAllListeners('data').on('data', listener as (bytes: Buffer) => void)
  if (failure) throw failure
}
