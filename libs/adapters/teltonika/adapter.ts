import { type Adapter, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields, type DroppedFields } from '../dropped-fields.ts'
import { isRecord, parseJson } from '../json.ts'
import { compileTable } from '../mapping.ts'
import { problemReplies } from '../problem-replies.ts'
import { createSampleSet, envelopeOf, type SampleSet, setField, tooManySamples } from '../sample-set.ts'
import { epochMs } from '../times.ts'
import { publisherTable, recordTable } from './table.ts'

const readRecord = compileTable(recordTable)
const readParameter = compileTable(publisherTable)

/** Members that group the values of a record. */
const sections = ['mobile', 'gsm', 'modem', 'connection', 'gps', 'system']

/** "Data to Server" of RUTOS over HTTP. The protocol has no errors of its own, so errors are problem documents. */
export const teltonika: Adapter = {
  source: 'teltonika',
  path: '/adapters/teltonika',
  // The router's HTTP client sends the type of a form unless the operator sets a header.
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

function translate(body: Buffer): Translation {
  const parsed = parseJson(body)
  if (!parsed.ok) return parsed
  const records = recordsOf(parsed.value)
  if (records === undefined) return refuse('The body must be an object or a list of objects.')
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  for (const record of records) {
    const isAdded = isRecord(record) ? addRecord(record, set, dropped) : dropped.add('data', 'unusable')
    if (isAdded === false) return tooManySamples
  }
  const translated = envelopeOf(set.samples())
  return translated.ok ? { ...translated, rejected: [], dropped: dropped.list() } : translated
}

/** Returns the records of a body: one, a list, or either of them in `data` as in answers of the router's API. */
function recordsOf(body: unknown): readonly unknown[] | undefined {
  const inner = isRecord(body) && body.data !== undefined ? body.data : body
  if (Array.isArray(inner)) return inner
  return isRecord(inner) ? [inner] : undefined
}

/** Returns false if there are too many samples. */
function addRecord({ mqtt, ...record }: Record<string, unknown>, set: SampleSet, dropped: DroppedFields): boolean {
  const grouped = sections.flatMap((name) => {
    const section = record[name]
    return isRecord(section) ? [[name, section] as const] : []
  })
  const names = new Set<string>(grouped.map(([name]) => name))
  const own = Object.fromEntries(Object.entries(record).filter(([name]) => !names.has(name)))
  const fields = mqtt === undefined ? new Map() : readParameter(mqtt, dropped)
  for (const part of [own, ...grouped.map(([, section]) => section)]) readRecord(part, dropped, fields)
  const sentMs = [record, ...grouped.map(([, section]) => section)].map(({ timestamp }) => epochMs(timestamp))
  const tsMs = sentMs.find((ms) => typeof ms === 'number')
  for (const [kind, values] of fields) {
    // The time of a record without a position is not a field.
    if (kind === 'location' && !values.has('lat')) continue
    const sample = set.sampleAt(kind, tsMs)
    if (!sample) return false
    for (const [field, value] of values) setField(sample, field, value, dropped)
  }
  return true
}
