import { stringify } from 'csv-stringify/sync'

/** What a cell may hold; objects are written as JSON, null and undefined as an empty cell. */
export type CsvValue = string | number | boolean | object | null | undefined

const options = {
  record_delimiter: '\r\n',
  // Text that a spreadsheet would run as a formula gets an apostrophe in front, as OWASP advises. Numbers stay numbers.
  escape_formulas: true,
  // A quoted cell survives spreadsheets that split at semicolons, as many do outside English-speaking countries.
  quoted_match: /[;']/,
  quote_record_delimiter: true,
  cast: { boolean: String },
}

/** CSV (RFC 4180) of these rows, each an array of cells in column order; every row ends with CRLF. */
export const csvLines = (rows: readonly (readonly CsvValue[])[]): string => stringify(rows as CsvValue[][], options)
