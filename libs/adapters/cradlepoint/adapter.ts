import { type Adapter, type AdapterHead, type AdapterRejection, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields, type DroppedFields } from '../dropped-fields.ts'
import { isRecord, parseJson } from '../json.ts'
import { compileTable } from '../mapping.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, envelopeOf, type SampleSet, tooManySamples } from '../sample-set.ts'
import { nearestDay, timeOfDayMs } from '../times.ts'
import { diagnosticsTable, lineTable } from './table.ts'

const readLine = compileTable(lineTable)
const readDiagnostics = compileTable(diagnosticsTable)
const maxRejected = 1_000
/** The fields of a line, from its identifier to its address. */
const fieldCount = 15

/** Cradlepoint routers: the lines of their GPS client, or the diagnostics of a modem as JSON. */
export const cradlepoint: Adapter = {
  source: 'cradlepoint',
  path: '/adapters/cradlepoint',
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

function translate(body: Buffer, _head: AdapterHead, receivedAtMs: number): Translation {
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  const text = body.toString('utf8')
  const isJson = text.trimStart().startsWith('{')
  const read = isJson ? addDiagnostics(body, set, dropped) : addLines(text, set, dropped, receivedAtMs)
  if ('status' in read) return read
  const translated = envelopeOf(set.samples())
  return translated.ok ? { ...translated, rejected: read.rejected, dropped: dropped.list() } : translated
}

type Read = { rejected: AdapterRejection[] } | ReturnType<typeof refuse>

function addDiagnostics(body: Buffer, set: SampleSet, dropped: DroppedFields): Read {
  const parsed = parseJson(body)
  if (!parsed.ok) return parsed
  if (!isRecord(parsed.value)) return refuse('The body must be an object or lines.')
  return addFields(set, readDiagnostics(parsed.value, dropped), undefined, dropped) ? { rejected: [] } : tooManySamples
}

function addLines(text: string, set: SampleSet, dropped: DroppedFields, receivedAtMs: number): Read {
  const rejected: AdapterRejection[] = []
  const lines = text.split(/\r?\n/)
  if (lines.every((line) => line.trim() === '')) return refuse('The body has no lines.')
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const parts = line.split(',')
    const ofDayMs = timeOfDayMs((parts[1] ?? '').padStart(6, '0'))
    if (parts.length < fieldCount || ofDayMs === undefined) {
      rejected.push({ index, code: 'invalid_sample', detail: `Line ${index + 1} is not a line of the GPS client.` })
      if (rejected.length > maxRejected) return refuse(`More than ${maxRejected} lines cannot be accepted.`)
      continue
    }
    const [, , latitude, ns, longitude, ew, speed, course, carrier, service, rsrp, rssi, rsrq, ecio, wanIp] = parts
    const tsMs = nearestDay(ofDayMs, receivedAtMs)
    const fields = readLine(
      {
        latitude: `${latitude},${ns}`,
        longitude: `${longitude},${ew}`,
        ...{ speed, course, carrier, service, rsrp, rssi, rsrq, ecio, wanIp: wanIp?.trim() },
      },
      dropped,
    )
    const location = fields.get('location')
    if (location?.has('lat')) location.set('fixTs', tsMs).set('source', 'gnss')
    else fields.delete('location')
    if (!addFields(set, fields, tsMs, dropped)) return tooManySamples
  }
  return { rejected }
}
