import { stringify } from 'csv-stringify/sync'

/** A cell. Objects are written as JSON, null and undefined as an empty cell. */
export type CsvValue = string | number | boolean | object | null | undefined

const options = {
  record_delimiter: '\r\n',
  // Prefix text that a spreadsheet would run as a formula with an apostrophe (OWASP). Numbers are not changed.
  escape_formulas: true,
  // Quote semicolons, because spreadsheets use them as separators in many countries.
  quoted_match: /[;']/,
  quote_record_delimiter: true,
  cast: { boolean: String },
}

/** CSV (RFC 4180) of these rows, each an array of cells in column order; every row ends with CRLF. */
export const csvLines = (rows: readonly (readonly CsvValue[])[]): string => stringify(rows as CsvValue[][], options)
