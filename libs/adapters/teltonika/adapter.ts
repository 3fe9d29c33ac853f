import { type Adapter, type AdapterHead, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields, type DroppedFields } from '../dropped-fields.ts'
import { isRecord, parseJson } from '../json.ts'
import { compileTable, type MappedFields } from '../mapping.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, type SampleSet, tooManySamples, translationOf } from '../sample-set.ts'
import { epochMs } from '../times.ts'
import { withApiUnits } from './derived.ts'
import { publisherTable, recordTable } from './table.ts'

const readRecord = compileTable(recordTable)
const readParameter = compileTable(publisherTable)

/** The names that a record may hold, without the names inside their values. */
const knownMembers = new Set(recordTable.mappings.map(({ from }) => from.split('.', 1)[0] ?? ''))
/** Names whose values are objects. A collection can have the name of any other value, such as `network` or `signal`. */
const objectMembers = new Set(
  recordTable.mappings.flatMap(({ from }) => (from.includes('.') ? [from.split('.', 1)[0]] : [])),
)
const isValue = (name: string, value: unknown) =>
  knownMembers.has(name) &&
  (objectMembers.has(name) || (name === 'modem' ? typeof value !== 'object' : !isRecord(value)))

/** How deep the values of a record may be grouped: by the name of a collection, and by an input. */
const maxGroups = 3

/** "Data to Server" of RUTOS over HTTP. The protocol has no errors of its own, so errors are problem documents. */
export const teltonika: Adapter = {
  source: 'teltonika',
  path: '/adapters/teltonika',
  // The router's HTTP client sends the type of a form unless the operator sets a header.
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

function translate(body: Buffer, _head: AdapterHead, receivedAtMs: number): Translation {
  const parsed = parseJson(body)
  if (!parsed.ok) return parsed
  const found = recordsOf(parsed.value)
  if (found === undefined) return refuse('The body must be an object or a list of objects.')
  const { records, isApi } = found
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  for (const record of records) {
    const isAdded = isRecord(record) ? addRecord(record, isApi, set, dropped) : dropped.add('data', 'unusable')
    if (isAdded === false) return tooManySamples
  }
  return translationOf({ set, dropped, receivedAtMs })
}

/** Returns the records of a body: one, a list, or either of them in `data` as in answers of the router's API. */
function recordsOf(body: unknown): { records: readonly unknown[]; isApi: boolean } | undefined {
  const isApi = isRecord(body) && body.data !== undefined
  const inner = isRecord(body) && body.data !== undefined ? body.data : body
  if (Array.isArray(inner)) return { records: inner, isApi }
  return isRecord(inner) ? { records: [inner], isApi } : undefined
}

/**
 * Returns the record without its groups, followed by the groups: Data to Server sends values under the name of the collection
 * or of the input, as an object or a list of objects.
 */
function partsOf(record: Record<string, unknown>, depth = 0): Record<string, unknown>[] {
  const groups: Record<string, unknown>[] = []
  const own: [string, unknown][] = []
  for (const [name, value] of Object.entries(record)) {
    const inner = (Array.isArray(value) ? value : [value]).filter(isRecord)
    const isGroup = !isValue(name, value) && depth < maxGroups && inner.some((one) => holdsKnown(one, depth + 1))
    if (isGroup) groups.push(...inner.flatMap((one) => partsOf(one, depth + 1)))
    else own.push([name, value])
  }
  return [Object.fromEntries(own), ...groups]
}

/** Returns whether an object has a value of the table, itself or in its groups. */
function holdsKnown(record: Record<string, unknown>, depth: number): boolean {
  return Object.entries(record).some(([name, value]) => {
    if (isValue(name, value)) return true
    const inner = (Array.isArray(value) ? value : [value]).filter(isRecord)
    return depth < maxGroups && inner.some((one) => holdsKnown(one, depth + 1))
  })
}

/** Returns false if there are too many samples. */
function addRecord(
  { mqtt, ...record }: Record<string, unknown>,
  isApi: boolean,
  set: SampleSet,
  dropped: DroppedFields,
): boolean {
  const parts = partsOf(record)
  const sentMs = parts.map(({ timestamp }) => epochMs(timestamp))
  const tsMs = sentMs.find((ms) => typeof ms === 'number')
  const read = parts.map((part) => readRecord(isApi ? withApiUnits(part) : part, dropped))
  if (mqtt !== undefined) read.unshift(readParameter(mqtt, dropped))
  for (const fields of joined(read)) {
    // The time of a record without a position is not a field.
    if (!fields.get('location')?.has('lat')) fields.delete('location')
    if (!addFields(set, fields, tsMs, dropped)) return false
  }
  return true
}

/** Joins the parts of each modem. Parts that name none are of the only modem, or of the router if there are several. */
function joined(parts: readonly MappedFields[]): Iterable<MappedFields> {
  const nameOf = (fields: MappedFields) => fields.get('cellular')?.get('modem')
  const names = new Set(parts.map(nameOf).filter((name) => name !== undefined))
  const [only] = names.size === 1 ? names : []
  const byModem = new Map<unknown, MappedFields>()
  for (const part of parts) {
    const name = nameOf(part) ?? only
    const known = byModem.get(name)
    if (!known) byModem.set(name, part)
    else addMissing(part, known)
  }
  return byModem.values()
}

/** Adds the values that an earlier part has not: a record's own values come before those of its groups. */
function addMissing(part: MappedFields, into: MappedFields): void {
  for (const [kind, values] of part) {
    const known = into.get(kind) ?? new Map<string, unknown>()
    into.set(kind, new Map([...values, ...known]))
  }
}
