import { type Adapter, type AdapterRejection, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields } from '../dropped-fields.ts'
import { isRecord, parseJson } from '../json.ts'
import { compileTable } from '../mapping.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, envelopeOf, tooManySamples } from '../sample-set.ts'
import { gpsdTime, skyTable, tpvTable } from './table.ts'

const readPosition = compileTable(tpvTable)
const readSatellites = compileTable(skyTable)
const maxRejected = 1_000

/** Objects that gpsd sends to its watchers, one a line: TPV and SKY. Others are ignored. */
export const gpsd: Adapter = {
  source: 'gpsd',
  path: '/adapters/gpsd',
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

function translate(body: Buffer): Translation {
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  const rejected: AdapterRejection[] = []
  let satellites = new Map<string, unknown>()
  let objects = 0
  for (const [index, line] of body.toString('utf8').split(/\r?\n/).entries()) {
    if (line.trim() === '') continue
    const parsed = parseJson(Buffer.from(line))
    if (!parsed.ok || !isRecord(parsed.value)) {
      rejected.push({ index, code: 'invalid_sample', detail: `Line ${index + 1} is not a JSON object.` })
      if (rejected.length > maxRejected) return refuse(`More than ${maxRejected} lines cannot be accepted.`)
      continue
    }
    objects += 1
    const { class: type, device: _device, ...members } = parsed.value
    if (type === 'SKY') satellites = readSatellites(members, dropped).get('location') ?? satellites
    if (type !== 'TPV') continue
    const fields = readPosition(members, dropped)
    const location = fields.get('location') ?? new Map<string, unknown>()
    const hasFix = location.has('lat') && location.get('fix') !== 'none'
    // A receiver without a fix may not know the time.
    if (!hasFix) location.delete('fixTs')
    if (location.size === 0) continue
    for (const [field, value] of satellites) if (!location.has(field)) location.set(field, value)
    satellites = new Map()
    fields.set('location', location.set('source', 'gnss'))
    const tsMs = hasFix ? gpsdTime(members.time) : undefined
    if (!addFields(set, fields, typeof tsMs === 'number' ? tsMs : undefined, dropped)) return tooManySamples
  }
  if (objects === 0 && rejected.length === 0) return refuse('The body has no objects.')
  const translated = envelopeOf(set.samples())
  return translated.ok ? { ...translated, rejected, dropped: dropped.list() } : translated
}
