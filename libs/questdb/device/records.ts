import { type Signal, signalQuality } from '#telemetry/coverage/quality'
import type { Field } from '#telemetry/report/field-types'
import { fieldsOf, type Kind, kinds } from '#telemetry/report/fields'
import { sourceOf } from '#telemetry/report/sources'
import { columnName } from '#telemetry/rows/tables'

/** A stored sample of the API: `ts`, `kind`, then every field of the kind, null without a usable value. */
export type TelemetryRecord = Record<string, unknown> & { ts: string; kind: Kind }

export type StoredSample = { tsMs: number; organizationId: string; receivedAtMs: number; record: TelemetryRecord }

/** The modem and interface of a record. */
export const recordSource = ({ modem, interface: uplink }: TelemetryRecord): string =>
  sourceOf(textOf(modem), textOf(uplink))

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** What a member of a record holds: a `time` is ISO 8601 text, and `json` a list of objects. */
type MemberType = 'text' | 'number' | 'boolean' | 'time' | 'json'

type Reader = { name: string; column: string; type: MemberType; read(value: unknown): unknown }

const asIs = (value: unknown) => value
const asTime = (value: unknown) => (typeof value === 'number' ? new Date(value).toISOString() : null)
const asJson = (value: unknown) => (typeof value === 'string' ? JSON.parse(value) : null)

// A cellular record has the aligned position. A position that the router sent with it is aligned as `device`.
const alignedColumns: Record<string, string> = {
  lat: 'aligned_lat',
  lon: 'aligned_lon',
  fixAgeMs: 'aligned_fix_age_ms',
}

const added: Record<Kind, Reader[]> = {
  connection: [],
  system: [],
  location: [{ name: 'usable', column: 'usable', type: 'boolean', read: asIs }],
  cellular: [
    { name: 'alignment', column: 'alignment', type: 'text', read: asIs },
    { name: 'alignErrorM', column: 'align_error_m', type: 'number', read: asIs },
  ],
}

function readersOf(kind: Kind): Reader[] {
  const fields = fieldsOf(kind).map(([name, field]) => ({
    name,
    column: (kind === 'cellular' && alignedColumns[name]) || columnName(name),
    type: memberType(field),
    read: field.type === 'time' ? asTime : field.type === 'cells' ? asJson : asIs,
  }))
  return [...fields, ...added[kind]]
}

function memberType({ type }: Field): MemberType {
  if (type === 'cells') return 'json'
  return type === 'number' || type === 'time' ? type : 'text'
}

const readers: Record<Kind, Reader[]> = {
  connection: readersOf('connection'),
  cellular: readersOf('cellular'),
  system: readersOf('system'),
  location: readersOf('location'),
}

const leading = ['ts', 'org_id', 'received_at', 'ts_corrected']

/** The columns a query must select, in this order, for `storedSample` to read its rows. */
export const sampleColumns = (kind: Kind): string =>
  [...leading, ...readers[kind].map((reader) => reader.column)].join(', ')

/** Returns the members of a record of this kind beside `ts` and `kind`. Any but `tsCorrected` can be null. */
export const recordMembers = (kind: Kind): { name: string; type: MemberType }[] => [
  { name: 'tsCorrected', type: 'boolean' },
  ...readers[kind].map(({ name, type }) => ({ name, type })),
  ...(kind === 'cellular'
    ? (['quality', 'qualityBasis'] as const).map((name) => ({ name, type: 'text' as const }))
    : []),
]

/**
 * An empty record of each kind to copy. V8 would store records with fields added one by one as hash tables, which take
 * several times as long to fill and serialize.
 */
const blanks = Object.fromEntries(
  kinds.map((kind) => [
    kind,
    JSON.parse(`{"ts": null, "kind": "${kind}", ${recordMembers(kind).map(({ name }) => `"${name}": null`)}}`),
  ]),
) as Record<Kind, TelemetryRecord>

/** Returns a row of `sampleColumns` as a record. A cellular record also has its signal quality. */
export function storedSample(kind: Kind, row: readonly unknown[]): StoredSample {
  const [tsMs, organizationId, receivedAtMs, tsCorrected] = row as [number, string, number, boolean]
  const record: TelemetryRecord = { ...blanks[kind] }
  record.ts = new Date(tsMs).toISOString()
  record.tsCorrected = tsCorrected
  let column = leading.length
  for (const { name, read } of readers[kind]) {
    const value = row[column++]
    // Most fields of most samples are null, as in the empty record.
    if (value !== null) record[name] = read(value)
  }
  if (kind === 'cellular') Object.assign(record, signalQuality(record as Signal))
  return { tsMs, organizationId, receivedAtMs, record }
}

const identities: ReadonlySet<string> = new Set(['imsi', 'iccid'])

/** Masks fields that require `device:sensitive`: identities keep their last four digits, addresses become null. */
export function maskSensitive(record: TelemetryRecord, sensitiveFields: readonly string[]): TelemetryRecord {
  const masked = { ...record }
  for (const name of sensitiveFields) {
    const value = masked[name]
    if (typeof value !== 'string') continue
    masked[name] = identities.has(name) ? value.slice(-4).padStart(value.length, '*') : null
  }
  return masked
}
