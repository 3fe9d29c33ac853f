import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { badRequest, ServiceError } from '#core/errors'
import type { ImportRow } from '#fleet/devices/import'
import type { NewDevice } from '#fleet/devices/register'
import { soughtTags } from '../http/schemas.ts'
import { newDeviceFields } from '../routes/devices/device-schemas.ts'
import { listedDeviceSchema } from '../routes/devices/list-schemas.ts'
import { tagsOfCell, textOfCell } from './csv-cells.ts'
import { exportColumns } from './export-rows.ts'
import { readCsv, separatorOf } from './import-csv.ts'
import { faultsOf } from './import-faults.ts'

export const maxImportRows = 10_000
/** No row that can be used is longer: its longest texts, every character escaped, have less than this. */
const maxLineLength = 65_536
/** How long rows are read before other requests get their turn. */
const sliceMs = 10
/** What a spreadsheet makes of a long number. Its last digits are lost. */
const scientific = /^[+-]?(?:\d+E\+|\d+[.,]\d+E[+-]?)\d+$/i
const rowSchema = z.strictObject({
  ...newDeviceFields,
  serial: newDeviceFields.serial.refine((serial) => !scientific.test(serial), {
    error: ({ input }) =>
      `${input} is a number in scientific notation, whose last digits a spreadsheet has lost. Enter the serial again in a column of the format Text.`,
  }),
  // A device may keep a tag that it has had.
  tags: soughtTags().default([]),
})
const csvColumns = Object.keys(newDeviceFields)
const columnOf = new Map([...csvColumns, ...exportColumns].map((name) => [name.toLowerCase(), name]))
/** Columns of the export that an import ignores, so that an exported file can be imported again. */
const ignoredColumns: ReadonlySet<string> = new Set(exportColumns.filter((name) => !csvColumns.includes(name)))
/** The same of an exported file of NDJSON, whose rows all have the members of `exportMark`. */
const ignoredMembers: ReadonlySet<string> = new Set(
  Object.keys(listedDeviceSchema.shape).filter((name) => !csvColumns.includes(name)),
)
const exportMark = ['id', 'organizationId', 'createdAt']

/**
 * Reads the rows of an import: CSV with a header, or NDJSON with one device per line. An invalid row has a reason and does
 * not affect the other rows. Other requests are served in between. Rejects with 400 if the file cannot be parsed,
 * and with 413 for more than 10,000 rows.
 */
export async function readImportRows(text: string, format: 'csv' | 'ndjson'): Promise<ImportRow[]> {
  const rows: ImportRow[] = []
  let sliceStartMs = performance.now()
  for await (const value of format === 'csv' ? csvValues(text) : ndjsonValues(text)) {
    if (rows.length === maxImportRows) throw tooManyRows()
    rows.push({ line: value.line, ...rowOf(value) })
    if (performance.now() - sliceStartMs < sliceMs) continue
    await nextTurn()
    sliceStartMs = performance.now()
  }
  return rows
}

const tooManyRows = () =>
  new ServiceError(413, 'too_many_rows', `An import can have at most ${maxImportRows} rows.`, {
    members: { maxRows: maxImportRows },
  })

function rowOf(value: ImportValue): ParsedRow {
  if (value.problem !== undefined) return invalid(value.problem)
  const parsed = rowSchema.safeParse(value.row, { reportInput: true })
  if (parsed.success) return { device: parsed.data, hasTags: value.hasTags }
  return invalid(faultsOf(parsed.error))
}

/** A row of the file, or the reason why it is invalid. */
type ImportValue = { line: number } & ({ row: unknown; hasTags: boolean; problem?: never } | { problem: string })

type ParsedRow = { device: NewDevice; hasTags: boolean } | { code: string; detail: string }

const invalid = (detail: string): ParsedRow => ({ code: 'invalid_row', detail })

async function* csvValues(text: string): AsyncGenerator<ImportValue> {
  let names: string[] | undefined
  const separator = separatorOf(text)
  for await (const { cells, line } of readCsv(text, separator)) {
    if (names === undefined) {
      names = readHeader(cells)
      continue
    }
    const row = Object.fromEntries(
      names.flatMap((name, index) => {
        const cell = cells[index]
        return ignoredColumns.has(name) || cell === undefined ? [] : [[name, textOfCell(cell)]]
      }),
    )
    // Put surplus cells into an unknown member, so that the schema rejects the row instead of truncating it.
    const surplus = withoutEmptyEnd(cells).length > names.length ? { 'surplus cells': cells.length - names.length } : {}
    // A file whose separator is not the comma can also separate tags with commas.
    const tags = tagsOfCell(row.tags ?? '', separator === ',' ? ';' : ';,')
    const notes = names.includes('notes') ? { notes: row.notes ?? '' } : {}
    yield { line, hasTags: names.includes('tags'), row: { ...row, tags, ...notes, ...surplus } }
  }
  if (names === undefined) readHeader([])
}

/** Spreadsheets write the cells of a column that is empty now. */
function withoutEmptyEnd(cells: readonly string[]): string[] {
  const last = cells.findLastIndex((cell) => cell.trim() !== '')
  return cells.slice(0, last + 1)
}

/** The names of the columns, which the file can have in any case. Throws 400 if a column is missing, unknown or repeated. */
function readHeader(header: readonly string[]): string[] {
  const names = withoutEmptyEnd(header).map((name) => columnOf.get(name.trim().toLowerCase()) ?? name.trim())
  const missing = ['serial', 'name', 'model'].filter((name) => !names.includes(name))
  const isKnown = (name: string) => csvColumns.includes(name) || ignoredColumns.has(name)
  const unknown = names.filter((name, index) => !isKnown(name) || names.indexOf(name) !== index)
  if (missing.length === 0 && unknown.length === 0) return names
  throw badRequest(
    `The first line must contain the column names: ${csvColumns.join(',')} (tags and notes are optional).`,
    [
      ...missing.map((name) => ({ pointer: name, code: 'missing_column', detail: 'This column is missing.' })),
      ...unknown
        .slice(0, csvColumns.length)
        .map((name) => ({ pointer: name, code: 'unknown_column', detail: 'There is no such column.' })),
    ],
  )
}

function* ndjsonValues(text: string): Generator<ImportValue> {
  for (const { content, line } of linesOf(text)) {
    if (content.length > maxLineLength) yield { line, problem: `This line is longer than ${maxLineLength} characters.` }
    else yield { line, ...parseLine(content) }
  }
}

/** A row without the members that an import ignores, if it is from an export. */
function withoutIgnored(row: unknown): unknown {
  if (typeof row !== 'object' || row === null || !exportMark.every((name) => Object.hasOwn(row, name))) return row
  return Object.fromEntries(Object.entries(row).filter(([name]) => !ignoredMembers.has(name)))
}

function parseLine(line: string): { row: unknown; hasTags: boolean } | { problem: string } {
  try {
    const row = withoutIgnored(JSON.parse(line))
    return { row, hasTags: typeof row === 'object' && row !== null && 'tags' in row }
  } catch {
    return { problem: 'This line is not JSON.' }
  }
}

/** The lines that are not blank, without the blanks before them, and their numbers from 1. */
function* linesOf(text: string): Generator<{ content: string; line: number }> {
  let start = 0
  let line = 1
  for (;;) {
    for (; isBlank(text.charCodeAt(start)); start += 1) if (text[start] === '\n') line += 1
    if (start >= text.length) return
    const next = text.indexOf('\n', start)
    const end = next < 0 ? text.length : next
    yield { content: text.slice(start, end), line }
    start = end
  }
}

const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])
const isBlank = (unit: number): boolean => blanks.has(unit)
