import type pg from 'pg'
import { toError } from '#core/error-text'
import { createRowFilter, type ReadRow } from './row-filter.ts'

type BinaryStatement = { text: string; values: unknown[]; binary: true; queryMode: 'extended' }

/**
 * Takes the rows out of what arrives before the client sees it, as a COPY of node-postgres does. If it throws, the
 * connection cannot be used again.
 */
export async function readClientRows(
  client: pg.PoolClient,
  statement: BinaryStatement,
  readRow: ReadRow,
): Promise<void> {
  const { stream } = client.connection
  const [listener] = stream.listeners('data')
  if (!listener) throw new Error('The connection is closed.')
  const filter = createRowFilter(readRow, (bytes) => listener.call(stream, bytes))
  let failure: Error | undefined
  const onData = (chunk: Buffer) => {
    try {
      filter(chunk)
    } catch (error) {
      failure = toError(error)
      stream.destroy(failure)
    }
  }
  stream.removeAllListeners('data').on('data', onData)
  try {
    await client.query(statement)
  } catch (error) {
    failure ??= toError(error)
  }
  stream.removeAllListeners('data').on('data', listener as (bytes: Buffer) => void)
  if (failure) throw failure
}
