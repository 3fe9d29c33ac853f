import { parse } from 'csv-parse/sync'
import { z } from 'zod'
import { badRequest, ServiceError } from '#core/errors'
import type { ImportRow } from '#fleet/device-import'
import { newDeviceFields } from './routes/device-schemas.ts'

export const maxImportRows = 10_000
const rowSchema = z.strictObject(newDeviceFields)
const csvColumns = Object.keys(newDeviceFields)

/**
 * Reads the rows of an import: CSV with a header, or NDJSON with one device a line. A row that cannot be used says why
 * and does not stop the others. Throws 400 when the text is no such file at all, 413 for more than 10,000 rows.
 */
export function readImportRows(text: string, format: 'csv' | 'ndjson'): ImportRow[] {
  const values = format === 'csv' ? csvValues(text) : ndjsonValues(text)
  if (values.length > maxImportRows) {
    throw new ServiceError(413, 'too_many_rows', `An import has at most ${maxImportRows} rows.`, {
      members: { maxRows: maxImportRows },
    })
  }
  return values.map((value) => {
    if (value === undefined) return invalid('This line is not JSON.')
    const parsed = rowSchema.safeParse(value)
    if (parsed.success) return { device: parsed.data }
    return invalid(parsed.error.issues.map((issue) => `${issue.path.join('.') || 'row'}: ${issue.message}`).join('; '))
  })
}

const invalid = (detail: string): ImportRow => ({ code: 'invalid_row', detail })

function csvValues(text: string): unknown[] {
  const [header = [], ...lines] = csvLines(text)
  const names = header.map((name) => name.trim())
  const missing = ['serial', 'name', 'model'].filter((name) => !names.includes(name))
  const unknown = names.filter((name, index) => !csvColumns.includes(name) || names.indexOf(name) !== index)
  if (missing.length > 0 || unknown.length > 0) {
    throw badRequest(`The first line names the columns: ${csvColumns.join(',')} (tags may be left out).`, [
      ...missing.map((name) => ({ pointer: name, code: 'missing_column', detail: 'This column is missing.' })),
      ...unknown.map((name) => ({ pointer: name, code: 'unknown_column', detail: 'There is no such column.' })),
    ])
  }
  return lines.map((cells) => {
    const row = Object.fromEntries(names.map((name, index) => [name, cells[index]]))
    // More cells than columns make a member no schema knows, so that the row is refused and not cut.
    const surplus = cells.length > names.length ? { 'surplus cells': cells.length - names.length } : {}
    return { ...row, ...tagsOf(row.tags), ...surplus }
  })
}

const tagsOf = (cell: string | undefined) => ({
  tags: (cell ?? '')
    .split(';')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== ''),
})

function csvLines(text: string): string[][] {
  try {
    return parse(text, { bom: true, relax_column_count: true, skip_empty_lines: true, to: maxImportRows + 2 })
  } catch (error) {
    const line = error instanceof Error && 'lines' in error ? ` Line ${error.lines}.` : ''
    throw badRequest(`This is not CSV.${line}`, undefined, 'invalid_csv')
  }
}

const ndjsonValues = (text: string): unknown[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      try {
        return JSON.parse(line) as unknown
      } catch {
        return undefined
      }
    })
