import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parse } from 'csv-parse'
import { badRequest } from '#core/errors'

const sliceLength = 16 * 1024
/** A longer record is a quote that nobody closed, or no CSV. */
const maxRecordBytes = 65_536

/**
 * The records of a CSV text with quoting as spreadsheets write it, blank lines left out. Works through the text in
 * slices, so that other requests are served in between. Throws 400 `invalid_csv` with the line that cannot be read.
 */
export async function* readCsv(text: string): AsyncGenerator<string[]> {
  const records = Readable.from(slicesOf(text)).compose(
    parse({ bom: true, relax_column_count: true, skip_empty_lines: true, max_record_size: maxRecordBytes }),
  )
  try {
    yield* records
  } catch (error) {
    const line = error instanceof Error && 'lines' in error ? ` Line ${error.lines}.` : ''
    throw badRequest(`This is not CSV.${line}`, undefined, 'invalid_csv')
  }
}

async function* slicesOf(text: string): AsyncGenerator<Buffer> {
  for (let start = 0; start < text.length; ) {
    await nextTurn()
    const end = start + sliceLength
    // Both halves of a surrogate pair belong into one slice.
    const whole = isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end
    yield Buffer.from(text.slice(start, whole))
    start = whole
  }
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
