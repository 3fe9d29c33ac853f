import { type AcceptedSample, parseAgeMs } from './accept.ts'
import { type CleaningReason, type CleanValue, compileCleaner, isUnknownIdentifier, reasonOf } from './clean-value.ts'
import { isObject } from './envelope.ts'
import { cellListFields, fieldsOf, fieldTable, type Kind, kinds, maxAgeMs } from './fields.ts'
import { plmnOfImsi } from './networks.ts'
import type { CleanRow, RowOf } from './rows.ts'
import { parseNumber, parseTime } from './times.ts'
import { isUsableFix } from './usable.ts'

/** Called for every value that cleaning removes. `field` is a dotted path inside the kind. */
export type CleaningReport = (reason: CleaningReason, kind: Kind, field: string) => void

type Row = Record<string, unknown>
type Scalar = { name: string; clean: CleanValue }

/** How far a fix may be ahead of its sample: the receiver and the router have different clocks. */
const maxFixAheadMs = 5 * 60_000

/**
 * Maximum size of a sample's cells as JSON. A cell with every field takes under 300 characters; only long names take
 * more. Rows are read and rewritten as a whole, so their size determines the memory that a device can use in the writer.
 */
const maxCellsCharacters = 32 * 320

const unaligned = {
  alignedLat: null,
  alignedLon: null,
  alignment: 'none',
  alignErrorM: null,
  alignedFixAgeMs: null,
  h3Res10: null,
  h3Res5: null,
  lostPlmn: null,
}

/**
 * Fields whose absence means that a position is good. A value that was sent and is unknown does not: the position is not
 * used.
 */
const qualityFields: Record<Kind, ReadonlySet<string>> = {
  connection: new Set(),
  system: new Set(),
  location: new Set(['accuracyM', 'hdop', 'fix']),
  cellular: new Set(['accuracyM', 'fixAgeMs']),
}

const derived: Record<Kind, Row> = {
  connection: {},
  system: {},
  location: { usable: false, isUndated: false },
  cellular: unaligned,
}

function compileKind(kind: Kind) {
  const template: Row = { kind, tsMs: 0, tsCorrected: false }
  const scalars = new Map<string, CleanValue>()
  for (const [name, field] of fieldsOf(kind)) {
    template[name] = null
    if (field.type !== 'time' && field.type !== 'cells') scalars.set(name, compileCleaner(field))
  }
  // All rows of a kind have one shape: the encoder reads them by field name and is slower with many shapes.
  return { template: { ...template, ...derived[kind] }, scalars, qualities: qualityFields[kind] }
}

const plans = Object.fromEntries(kinds.map((kind) => [kind, compileKind(kind)])) as Record<
  Kind,
  ReturnType<typeof compileKind>
>

const cellScalars: Scalar[] = Object.entries(cellListFields).map(([name, field]) => ({
  name,
  clean: compileCleaner(field),
}))

/**
 * Returns the row of an accepted sample. Values that a field cannot hold become null and are passed to `report`. RF rows
 * are not aligned yet.
 */
export function cleanSample(accepted: AcceptedSample, report: CleaningReport): CleanRow {
  const { kind, sample } = accepted
  const { template, scalars, qualities } = plans[kind]
  const row: Row = { ...template }
  row.tsMs = accepted.tsMs
  row.tsCorrected = accepted.tsCorrected
  let isQualityUnknown = false
  for (const name in sample) {
    const clean = scalars.get(name)
    const value = sample[name]
    if (clean === undefined || value === null) continue
    const cleaned = clean(value)
    if (typeof cleaned === 'symbol') {
      report(reasonOf(cleaned), kind, name)
      isQualityUnknown ||= qualities.has(name)
    } else row[name] = cleaned
  }
  if (kind === 'connection') finishConnection(row as RowOf<'connection'>)
  if (kind === 'location') finishLocation(row as RowOf<'location'>, accepted, isQualityUnknown, report)
  if (kind === 'cellular') finishCellular(row as RowOf<'cellular'>, accepted, isQualityUnknown, report)
  return row as CleanRow
}

/** The operator that issued the SIM is known from the identity of the subscriber. */
function finishConnection(row: RowOf<'connection'>): void {
  if (row.simPlmn === null && row.imsi !== null) row.simPlmn = plmnOfImsi(row.imsi)
}

/**
 * Gives the RF rows of a report the operator that issued the SIM, from its connections of the same modem. Not if these name
 * several: a SIM was changed.
 */
export function shareSimPlmn(
  connections: readonly Pick<RowOf<'connection'>, 'modem' | 'simPlmn'>[],
  rows: Iterable<Pick<RowOf<'cellular'>, 'modem' | 'simPlmn'>>,
): void {
  const issuers = new Map<string | null, string | null>()
  for (const { modem, simPlmn } of connections) {
    if (simPlmn === null) continue
    const isOther = issuers.has(modem) && issuers.get(modem) !== simPlmn
    issuers.set(modem, isOther ? null : simPlmn)
  }
  if (issuers.size > 0) for (const row of rows) row.simPlmn ??= issuers.get(row.modem) ?? null
}

function finishCellular(
  row: RowOf<'cellular'>,
  { sample }: AcceptedSample,
  isPositionUnknown: boolean,
  report: CleaningReport,
): void {
  if (isPositionUnknown && row.lat !== null) {
    row.lat = null
    row.lon = null
    report('unknown_quality', 'cellular', 'lat')
  }
  if (isUnknownCell('cellId', row.cellId, row.rat, 'cellId', report)) row.cellId = null
  if (isUnknownCell('tac', row.tac, row.rat, 'tac', report)) row.tac = null
  row.cells = cleanCells(sample.cells, row.rat, report)
}

/** Returns whether the modem says by the value that it does not know the cell. Counts it under `path`. */
function isUnknownCell(
  name: 'cellId' | 'tac',
  value: unknown,
  rat: string | null,
  path: string,
  report: CleaningReport,
): boolean {
  if (typeof value !== 'string' || !isUnknownIdentifier(name, value, rat)) return false
  report('out_of_range', 'cellular', path)
  return true
}

function finishLocation(
  row: RowOf<'location'>,
  accepted: AcceptedSample,
  isQualityUnknown: boolean,
  report: CleaningReport,
): void {
  const { ageMs, fixTs, ts } = accepted.sample
  let isUndated = false
  if (fixTs !== undefined && fixTs !== null) {
    row.fixTs = cleanFixTs(fixTs, accepted, report)
    isUndated = row.fixTs === null
  } else if (ageMs !== undefined && ageMs !== null) {
    const age = parseAgeMs(ageMs)
    // Without `ts`, the age was already subtracted to get the time of the sample.
    const hasOwnTs = ts !== undefined && ts !== null
    isUndated = age === null
    if (age === null) report('out_of_range', 'location', 'ageMs')
    else row.fixTs = Math.trunc(hasOwnTs ? accepted.tsMs - age : accepted.tsMs)
  }
  const isGood = !isQualityUnknown && isUsableFix(row)
  row.usable = isGood && !isUndated
  row.isUndated = isGood && isUndated
}

/**
 * In a batch with a wrong clock, the fix may have the router's time or satellite time. Uses the one that is closer to the
 * sample.
 */
function cleanFixTs(value: unknown, { tsMs, shiftMs }: AcceptedSample, report: CleaningReport): number | null {
  const sentMs = parseTime(value) ?? parseNumber(value)
  if (sentMs === null) {
    report('malformed', 'location', 'fixTs')
    return null
  }
  const shiftedMs = Math.trunc(sentMs) + shiftMs
  const fixTs = Math.abs(tsMs - shiftedMs) <= Math.abs(tsMs - sentMs) ? shiftedMs : Math.trunc(sentMs)
  if (fixTs >= tsMs - maxAgeMs && fixTs <= tsMs + maxFixAheadMs) return fixTs
  report('out_of_range', 'location', 'fixTs')
  return null
}

function cleanCells(value: unknown, rat: string | null, report: CleaningReport): string | null {
  if (value === undefined || value === null) return null
  if (!Array.isArray(value)) {
    report('wrong_type', 'cellular', 'cells')
    return null
  }
  const { maxItems } = fieldTable.cellular.cells
  const cells: string[] = []
  let characters = 0
  for (const cell of value.slice(0, maxItems)) {
    const text = cleanCell(cell, rat, report)
    if (text === null) continue
    characters += text.length
    if (characters > maxCellsCharacters) break
    cells.push(text)
  }
  if (value.length > maxItems || characters > maxCellsCharacters) report('too_many', 'cellular', 'cells')
  return `[${cells.join(',')}]`
}

function cleanCell(cell: unknown, servingRat: string | null, report: CleaningReport): string | null {
  if (!isObject(cell)) {
    report('wrong_type', 'cellular', 'cells')
    return null
  }
  const clean: Row = {}
  for (const scalar of cellScalars) {
    const value = cell[scalar.name]
    if (value === undefined || value === null) continue
    const cleaned = scalar.clean(value)
    if (typeof cleaned === 'symbol') report(reasonOf(cleaned), 'cellular', `cells.${scalar.name}`)
    else clean[scalar.name] = cleaned
  }
  const rat = typeof clean.rat === 'string' ? clean.rat : servingRat
  if (isUnknownCell('cellId', clean.cellId, rat, 'cells.cellId', report)) delete clean.cellId
  if (isUnknownCell('tac', clean.tac, rat, 'cells.tac', report)) delete clean.tac
  for (const name in cell) if (!Object.hasOwn(cellListFields, name)) report('unknown_field', 'cellular', 'cells')
  return JSON.stringify(clean)
}
