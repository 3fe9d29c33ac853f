import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parse } from 'csv-parse'
import { badRequest } from '#core/errors'

const sliceLength = 16 * 1024
/** A longer record has an unclosed quote or is not CSV. */
const maxRecordBytes = 65_536

/** A record of a CSV file, and the number of the line on which it ends, counted from 1. */
type CsvRecord = { cells: string[]; line: number }

/** The separators that spreadsheets write, depending on the country. The header decides. */
const separators = [',', ';', '\t'] as const
type Separator = (typeof separators)[number]

/** The first line with which a file names its separator to Excel. */
const separatorLine = /^\ufeff?"?sep=([,;\t])"?[\r\n]/i

/** The separator that the file names, or else the one that is most frequent in the first line with a word. */
export function separatorOf(text: string): Separator {
  const named = separatorLine.exec(text)?.[1]
  if (named !== undefined) return named as Separator
  const lines = text.slice(0, maxRecordBytes).split(/[\r\n]+/)
  const header = lines.find((line) => /[^\s,;"]/.test(line)) ?? ''
  const count = (separator: Separator) => header.split(separator).length
  return separators.reduce((best, separator) => (count(separator) > count(best) ? separator : best))
}

/**
 * The records of a CSV text, without those that have only empty cells and the line that names the separator. Accepts the
 * quoting of spreadsheets, and quotes inside a cell that has none around it, such as `12" mast`. Processes the text in slices,
 * so that other requests can run between them. Throws 400 `invalid_csv` with the number of the invalid line.
 */
export async function* readCsv(text: string, separator: Separator): AsyncGenerator<CsvRecord> {
  // The parser counts a quoted CRLF as two lines.
  const records = Readable.from(slicesOf(text.replaceAll('\r\n', '\n'))).compose(
    parse({
      bom: true,
      delimiter: separator,
      from_line: separatorLine.test(text) ? 2 : 1,
      info: true,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      max_record_size: maxRecordBytes,
    }),
  )
  try {
    for await (const { record, info } of records) yield { cells: record, line: info.lines }
  } catch (error) {
    const line = error instanceof Error && 'lines' in error ? ` Line ${error.lines}.` : ''
    throw badRequest(`The body is not valid CSV.${line}`, undefined, 'invalid_csv')
  }
}

/** Splits the text. Throws an error with the line number if a line is longer than the maximum record. */
async function* slicesOf(text: string): AsyncGenerator<Buffer> {
  let lineStart = 0
  for (let start = 0; start < text.length; ) {
    await nextTurn()
    const end = start + sliceLength
    // Do not split a surrogate pair.
    const whole = isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end
    const slice = text.slice(start, whole)
    const lineEnd = Math.max(slice.lastIndexOf('\n'), slice.lastIndexOf('\r'))
    if (lineEnd >= 0) lineStart = start + lineEnd + 1
    // The parser limits the bytes of a record's cells but not their number: it would build a list of 8 million empty cells.
    if (whole - lineStart > maxRecordBytes + sliceLength) throw lineTooLong(text.slice(0, lineStart))
    yield Buffer.from(slice)
    start = whole
  }
}

const lineTooLong = (before: string) =>
  Object.assign(new Error('A line is too long.'), { lines: before.split(/\r\n|\n|\r/).length })

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
